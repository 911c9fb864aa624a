// The options of commands that read the server's configuration: --config, and one for every setting.
#pragma once

#include <vector>

#include "cli/frame/command.h"

namespace mete::server {
struct ConfigSources;
}

namespace mete::cli {

// Behind a command's own options.
std::vector<Argument> config_options(std::vector<Argument> own = {});

// Where such a command's configuration comes from; for server::load_config.
server::ConfigSources config_sources(const Invocation& invocation, const Console& console);

}  // namespace mete::cli
