// Occasion: when an operation happens, and where it tells what its answer has to wait for.
#pragma once

#include <mete/time.h>

#include "core/execution.h"

namespace mete::engine {

struct Occasion {
  Occasion(Instant when, core::Ticket* awaited = nullptr) : now(when), ticket(awaited) {}  // NOLINT: a time will do

  // What was done, or is told of, has this ticket.
  void note(core::Ticket other) const {
    if (ticket != nullptr && other > *ticket) *ticket = other;
  }

  Instant now;
  core::Ticket* ticket;  // null: nobody waits
};

}  // namespace mete::engine
