// SyncGate: keeps the answers of one event loop back until what they tell of is on disk.
//
// A session serves a batch with one store::Execution, and asks the gate what its answers have to wait for. The gate
// asks for one sync at the end of the loop's round, and lets the answers go when the store tells that it has come so
// far, or that it never will: then each client gets an error in place of them. Nothing is polled, and the thread that
// syncs sends a loop one message at a time, and none if nothing waits there.
//
// Thread safety: note_progress() from any thread, everything else on the loop's.
#pragma once

#include <atomic>
#include <limits>
#include <map>

#include "net/connection_set.h"
#include "net/event_loop.h"
#include "store/persistence.h"

namespace mete::server {

class SyncGate {
 public:
  SyncGate(net::EventLoop& loop, net::ConnectionSet& connections) : loop_(loop), connections_(connections) {}

  // Before the first answer. Without it nothing has to wait.
  void guard(store::Persistence& persistence) { persistence_ = &persistence; }

  // What an answer has to wait for that tells of operations up to this ticket; 0: it may go.
  [[nodiscard]] net::Ticket needed(store::Ticket ticket) { return ticket == 0 ? 0 : await(ticket); }
  // For a session that keeps such answers itself: `then` comes once that is on disk, or after the failure.
  void when_synced(store::Ticket ticket, net::EventLoop::Task then);
  // synced() has grown, or there is a failure.
  void note_progress();
  [[nodiscard]] store::Ticket synced() const { return persistence_ == nullptr ? 0 : persistence_->synced(); }
  [[nodiscard]] bool has_failed() const { return persistence_ != nullptr && persistence_->failure().has_value(); }
  // Why what was withheld is lost.
  [[nodiscard]] Error failure() const;

 private:
  net::Ticket await(store::Ticket ticket);
  void release();
  // The first that anybody waits for; 0: nobody waits.
  [[nodiscard]] store::Ticket first_awaited() const;
  void tell(store::Ticket reached);

  net::EventLoop& loop_;
  net::ConnectionSet& connections_;
  store::Persistence* persistence_ = nullptr;
  std::multimap<store::Ticket, net::EventLoop::Task> told_;  // when they are reached
  bool is_sync_wanted_ = false;                              // at the end of the round
  std::atomic<bool> is_waiting_{false};                      // for a message of note_progress
};

}  // namespace mete::server
