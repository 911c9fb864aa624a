#include "server/decisions/waking_store.h"

#include "server/decisions/wait_queue.h"

namespace mete::server::waking {

bool does_anyone_wait(const WaitQueue* waits) { return waits != nullptr && waits->size() > 0; }

void nudge(WaitQueue& waits, std::span<const Charge> charges) { waits.nudge(charges); }

void nudge_all(WaitQueue& waits) { waits.nudge_all(); }

}  // namespace mete::server::waking
