// `mete import redis`: takes over what counters in Redis say.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command import_redis_command();

}  // namespace mete::cli
