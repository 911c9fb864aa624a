// What the log says of syncs.
#pragma once

#include "base/log.h"
#include "sync/worker.h"

namespace mete::server {

void log_sync(const sync::RunRecord& record, base::Log& log);

}  // namespace mete::server
