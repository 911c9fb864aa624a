// Execution: how an operation is carried out, beside what it says: at which time, and who waits for the disk.
//
// A thread that serves many clients reads the clock once for a batch of operations, and waits for no disk: it lets them
// share an Execution, and sends their answers once all up to `ticket` is on disk (store/persistence.h).
//
//     Execution execution = {.now = store.now(), .waits_for_disk = false};
//     … store.run(operation, execution) …
//     if (execution.ticket > persistence->synced()) { persistence->request_sync(); … answer when it is reached … }
#pragma once

#include <mete/time.h>

#include <cstdint>
#include <optional>

namespace mete::core {

using Ticket = std::uint64_t;  // of what must be on disk before it is told; 0: nothing to wait for

struct Execution {
  std::optional<Instant> now = {};  // none: the store reads its clock. A store elsewhere has a clock of its own
  bool waits_for_disk = true;       // the call returns when its ticket is on disk
  Ticket ticket = 0;                // the highest of the operations so far

  void note(Ticket other) { ticket = other > ticket ? other : ticket; }
};

}  // namespace mete::core
