// `mete limit set`, `get`, `list`, `del` and `override`.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command limit_set_command();
Command limit_get_command();
Command limit_list_command();
Command limit_del_command();
Command limit_override_command();

}  // namespace mete::cli
