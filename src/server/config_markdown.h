// docs/configuration.md, written from the table of settings.
#pragma once

#include <string>

namespace mete::server {

std::string config_markdown();

}  // namespace mete::server
