#include "server/decisions/sync_gate.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace mete::server {

net::Ticket SyncGate::await(store::Ticket ticket) {
  CHECK(persistence_ != nullptr);
  if (ticket <= persistence_->synced()) return 0;
  // Not at once: what the rest of the round writes is to be in the same sync.
  if (!is_sync_wanted_) {
    is_sync_wanted_ = true;
    loop_.at_round_end([this] {
      is_sync_wanted_ = false;
      persistence_->request_sync();
      release();
    });
  }
  return ticket;
}

void SyncGate::note_progress() {
  if (is_waiting_.exchange(false)) loop_.post([this] { release(); });
}

// Either note_progress() finds that we wait, or we find what it would have told: that is what the exchange is for.
void SyncGate::release() {
  while (first_awaited() != 0) {
    is_waiting_.exchange(true);
    const bool has_failed = persistence_->failure().has_value();
    const store::Ticket synced = persistence_->synced();  // After a failure it does not grow any more.
    if (first_awaited() > synced && !has_failed) return;
    connections_.release(synced);
    if (has_failed) connections_.lose_withheld();
    tell(has_failed ? std::numeric_limits<store::Ticket>::max() : synced);
  }
}

void SyncGate::when_synced(store::Ticket ticket, net::EventLoop::Task then) { told_.emplace(ticket, std::move(then)); }

store::Ticket SyncGate::first_awaited() const {
  const net::Ticket withheld = connections_.first_withheld();
  if (told_.empty()) return withheld;
  const store::Ticket told = told_.begin()->first;
  return withheld == 0 ? told : std::min(withheld, told);
}

// Who is told may wait for the next.
void SyncGate::tell(store::Ticket reached) {
  while (!told_.empty() && told_.begin()->first <= reached) {
    const auto then = std::move(told_.begin()->second);
    told_.erase(told_.begin());
    then();
  }
}

Error SyncGate::failure() const {
  CHECK(persistence_ != nullptr);
  const auto failure = persistence_->failure();
  CHECK(failure.has_value());
  return *failure;
}

}  // namespace mete::server
