// `mete take`, `peek`, `give`, `usage` and `reconcile`.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command take_command();
Command peek_command();
Command give_command();
Command usage_command();
Command reconcile_command();

}  // namespace mete::cli
