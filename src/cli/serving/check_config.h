// mete check-config: whether `mete serve` would accept its configuration.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command check_config_command();

}  // namespace mete::cli
