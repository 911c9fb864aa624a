// WaitQueue: takes that wait until they fit: `TAKE … WAIT duration`.
//
// First come, first served, per meter: a take waits behind every earlier one that shares a meter with it. The first of
// a meter is tried when its retry_after has passed, and whenever something is given back here. What comes back by way
// of another server of a shared store is found by looking, each meter every second, or a hundred in a second where more
// wait. Waiting costs no thread.
//
// No address has more than half of the places that others leave: none can have them all.
//
// Where the store lies elsewhere, no meter is looked at more often than that, however soon something comes back to it.
// Each attempt is on a fiber of its own there, and a take that has gone or whose time is over while the store is asked
// is seen to when the answer is there.
//
// Thread safety: wait(), nudge() and cancel() from any thread: they are carried out on the loop's, in order.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/verdict.h"
#include "net/event_loop.h"
#include "net/fiber.h"
#include "server/doors/guesses.h"
#include "store/store.h"

namespace mete::server {

// How long after a denial whoever has no queue to wait in tries a take again.
Duration retry_wait(const core::Verdict& denial);
// Of one charge this can be told: more than a fresh meter has.
bool can_never_fit(std::span<const Charge> charges, const core::Verdict& verdict);

class WaitQueue {
 public:
  // With the ticket of what the verdict has changed: it must be on disk before anybody is told.
  using Deliver = std::function<void(const Result<core::Verdict>& verdict, store::Ticket ticket)>;

  // `fibers`, of the same loop: null where the store never waits for another server.
  WaitQueue(net::EventLoop& loop, net::Fibers* fibers, store::Store& store, std::size_t waiters_max)
      : loop_(loop), fibers_(fibers), store_(store), waiters_max_(waiters_max) {}

  // A take with its own copies of the names.
  class Waiter {
   public:
    Waiter(const core::Take& request, Duration patience);

    [[nodiscard]] std::span<const Charge> charges() const { return charges_; }
    [[nodiscard]] core::Take request() const { return {charges_, mode_, id_, true}; }
    [[nodiscard]] const std::vector<std::string>& meters() const { return meters_; }
    [[nodiscard]] Duration patience() const { return patience_; }

   private:
    std::vector<std::string> names_;  // of the charges: limit, key, limit, key, …
    std::vector<Charge> charges_;     // views into names_
    std::vector<std::string> meters_;
    Mode mode_;
    std::string id_;
    Duration patience_;
  };

  struct Caller {
    std::uint64_t id = 0;  // unique
    GuessSource source = {};
  };
  // Exactly one answer is delivered, on the loop's thread, unless the caller cancels first; or even
  // then, if it is under way.
  void wait(const Caller& caller, std::shared_ptr<const Waiter> waiter, Deliver deliver);
  void cancel(std::uint64_t caller);
  // Something may have come back to these meters.
  void nudge(std::span<const Charge> charges);
  // A limit has changed: anything may fit now.
  void nudge_all();
  // Denies everyone, and whoever comes later: the server stops.
  void finish();
  // Gives back what was taken for a client that has gone; `up_to`: of a take up_to, how much. From any thread or fiber.
  void give_back(const Waiter& waiter, Amount up_to);

  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Queued {
    std::shared_ptr<const Waiter> waiter;
    Deliver deliver;
    GuessSource source;
    std::uint64_t place = 0;  // in the order in which they came
    net::EventLoop::TimerId retry = 0;
    net::EventLoop::TimerId deadline = 0;
    bool is_asking = false;  // the store, at the moment
    bool is_nudged = false;  // meanwhile
    bool is_over = false;    // its time
  };

  void enter(const Caller& caller, std::shared_ptr<const Waiter> waiter, Deliver deliver);
  [[nodiscard]] std::optional<Error> refuse(const GuessSource& source) const;
  [[nodiscard]] bool is_first_everywhere(std::uint64_t caller, const Waiter& waiter) const;
  void attempt(std::uint64_t caller);
  void give_up(std::uint64_t caller);
  // Asks the store for the one who waits, and goes on with `judge` unless it has gone.
  template <class Ask, class Judge>
  void ask(Queued& queued, std::uint64_t caller, Ask ask, Judge judge);
  [[nodiscard]] Result<core::Verdict> answer_out_of_turn(const Waiter& waiter, store::Execution& execution);
  // Gives the place of the caller up, and to the next in line.
  void leave(std::uint64_t caller);
  void try_first(std::vector<std::string> meters, std::size_t from = 0);
  void give_up_from(std::uint64_t caller);
  [[nodiscard]] Duration look_again_after(const core::Verdict& denial) const;

  net::EventLoop& loop_;
  net::Fibers* const fibers_;
  store::Store& store_;
  const std::size_t waiters_max_;
  std::atomic<std::size_t> size_{0};
  std::map<std::uint64_t, Queued> queued_;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>, std::less<>> queues_;  // by meter: callers by place
  std::map<GuessSource, std::size_t> of_source_;                                       // how many wait
  std::uint64_t next_place_ = 0;
  bool is_finished_ = false;
};

}  // namespace mete::server
