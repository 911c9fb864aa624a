// The subcommands for data directories. They need no server, and all but `restore` and `repair` only look.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command backup_command();
Command restore_command();
Command inspect_command();
Command verify_command();
Command repair_command();

}  // namespace mete::cli
