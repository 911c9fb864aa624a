// The options of commands that read the server's configuration: --config, and one for every setting.
#pragma once

#include <vector>

#include "cli/frame/command.h"
#include "server/configuration/config.h"

namespace mete::cli {

std::vector<Option> config_options();

// Where such a command's configuration comes from; for server::load_config.
server::ConfigSources config_sources(const Invocation& invocation, const Console& console);

}  // namespace mete::cli
