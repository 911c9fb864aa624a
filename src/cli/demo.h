// mete demo: a limiter in memory, and a prompt to try it with.
#pragma once

#include "cli/command.h"

namespace mete::cli {

Command demo_command();

}  // namespace mete::cli
