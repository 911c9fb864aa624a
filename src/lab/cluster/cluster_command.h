// `mete cluster`: several nodes that share a limit, on this machine, to try it out.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command cluster_command();

}  // namespace mete::cli
