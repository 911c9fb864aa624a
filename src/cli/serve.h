// `mete serve`: the server.
#pragma once

#include "cli/command.h"

namespace mete::cli {

Command serve_command();

}  // namespace mete::cli
