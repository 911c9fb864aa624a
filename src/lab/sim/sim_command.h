// mete sim: its place on the command line.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command sim_command();

}  // namespace mete::cli
