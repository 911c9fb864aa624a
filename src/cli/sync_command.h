// `mete sync`.
#pragma once

#include "cli/command.h"

namespace mete::cli {

Command sync_command();

}  // namespace mete::cli
