// mete bench: its place on the command line.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command bench_command();

}  // namespace mete::cli
