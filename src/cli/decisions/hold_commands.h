// `mete hold`, `commit`, `cancel`, `extend` and `holds`.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command hold_command();
Command commit_command();
Command cancel_command();
Command extend_command();
Command holds_command();

}  // namespace mete::cli
