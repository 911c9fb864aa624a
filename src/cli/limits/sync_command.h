// `mete sync`.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command sync_command();

}  // namespace mete::cli
