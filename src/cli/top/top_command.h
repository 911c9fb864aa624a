// `mete top`: what a server is doing, live.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command top_command();

}  // namespace mete::cli
