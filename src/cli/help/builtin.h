// The commands about the program itself: help, version, completion, man.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command help_command();
Command version_command();
Command completion_command();
Command man_command();

}  // namespace mete::cli
