// What the log says of a start that reads files: how far it is now and then, and at its end what was found.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "store/persistence.h"

namespace mete::server {

// A line every two seconds; none if it is done before that. Thread safety: one thread at a time.
class LoadLog {
 public:
  explicit LoadLog(base::Log& log);

  void note(const store::LoadProgress& progress);

 private:
  base::Log& log_;
  std::uint64_t told_ns_;
};

// Nothing if there was nothing.
void log_recovery(const store::PersistenceStatus& status, base::Log& log);

}  // namespace mete::server
