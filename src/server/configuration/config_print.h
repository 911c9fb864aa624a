// A configuration as the text of a file that says the same: for `mete check-config --print`.
#pragma once

#include <string>

#include "server/configuration/config.h"

namespace mete::server {

// TOML that load_config reads back to an equal configuration, but for passwords, which are shown as *** in comments.
std::string print_config(const Config& config);

}  // namespace mete::server
