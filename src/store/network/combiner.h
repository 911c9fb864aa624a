// Combiner: calls that come while enough others are under way wait for one of those to end, and then go together. For
// stores that lie elsewhere: what many calls have in common there (a round trip, a transaction, a sync of its disk) is
// paid once for all that go together.
//
//     there is room     ──→ the call goes at once: nobody waits for company
//     there is no room  ──→ it waits ──→ a call ends: the first that waits goes, and all the others with it
//
// Thread safety: every call from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "net/signal.h"

namespace mete::store {

template <class Call>
class Combiner {
 public:
  Combiner(std::size_t under_way_max, std::size_t together_max)
      : under_way_max_(std::max<std::size_t>(under_way_max, 1)),
        together_max_(std::max<std::size_t>(together_max, 1)) {}

  // Has run(calls) called with this call among them, by this caller or by another of them, and returns what that
  // returned. `run`, a function of span<Call* const>, is the same for all, and does not throw.
  template <class Run>
  bool join(Call& call, Run run) {
    Member self;
    std::vector<Member*> others;
    std::vector<Call*> calls = {&call};
    {
      std::unique_lock lock(mutex_);
      if (under_way_ < under_way_max_) {
        ++under_way_;
      } else {
        self.call = &call;
        waiting_.push_back(&self);
        self.has_changed.wait(lock, net::Deadline::in(Duration::never()), [&] { return self.state != State::kWaits; });
        if (self.state == State::kDone) return self.result;
      }
      take_waiting(others, calls);
    }
    const bool result = run(std::span<Call* const>(calls));
    const std::lock_guard guard(mutex_);
    for (Member* other : others) {
      other->result = result;
      change(*other, State::kDone);
    }
    hand_over();
    return result;
  }

  // Calls that nobody has taken along yet.
  [[nodiscard]] std::size_t waiting() const {
    const std::lock_guard guard(mutex_);
    return waiting_.size();
  }

 private:
  enum class State { kWaits, kLeads, kDone };

  struct Member {
    Call* call = nullptr;
    State state = State::kWaits;
    bool result = false;
    net::Signal has_changed;
  };

  // With mutex_ locked, all of these.
  static void change(Member& member, State state) {
    member.state = state;
    member.has_changed.notify_one();
  }

  void take_waiting(std::vector<Member*>& others, std::vector<Call*>& calls) {
    while (!waiting_.empty() && calls.size() < together_max_) {
      others.push_back(waiting_.front());
      calls.push_back(waiting_.front()->call);
      waiting_.pop_front();
    }
  }

  // The place of a call that has ended, to the first that waits.
  void hand_over() {
    if (waiting_.empty()) {
      --under_way_;
      return;
    }
    Member& next = *waiting_.front();
    waiting_.pop_front();
    change(next, State::kLeads);
  }

  const std::size_t under_way_max_;
  const std::size_t together_max_;
  mutable std::mutex mutex_;
  std::size_t under_way_ = 0;    // under mutex_, as below
  std::deque<Member*> waiting_;  // those that nobody has taken along
};

}  // namespace mete::store
