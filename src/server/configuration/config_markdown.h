// docs/configuration.md, written from the table of settings.
#pragma once

#include <string>

namespace mete::server {

std::string config_markdown();
// The same for a terminal, in short.
std::string config_text();

}  // namespace mete::server
