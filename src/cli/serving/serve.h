// `mete serve`: the server.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command serve_command();

}  // namespace mete::cli
