// Carrier: carries out orders at the shared store, and tells the shares what came of it.
//
// It has one thread, whose event loop looks every few milliseconds what the shares want by themselves, and carries out
// orders on fibers, many at a time: a store that is far away does not make one meter wait for another. Without threads
// nothing happens by itself: orders are carried out where they are made, and tend() is called by who has the Carrier.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>
#include <mete/result.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "escrow/lot_book.h"
#include "escrow/nodes/roll.h"
#include "escrow/shares.h"
#include "escrow/terms.h"
#include "net/deadline.h"
#include "net/event_loop.h"
#include "net/fiber.h"
#include "net/fiber_mutex.h"
#include "store/store.h"

namespace mete::escrow {

class Carrier {
 public:
  // How long a stop may take before what is left is left. Calls under way end then, whatever time-out they have.
  static constexpr Duration kStopWithin = std::chrono::seconds(8);
  // A stop that hears this often in a row that the shared store does not answer asks no more.
  static constexpr int kAwayAfter = 100;
  // What the shared store grants counts where it was confirmed to be what it was so long ago at most, and over
  // connections that nobody has lost since.
  static constexpr Duration kConfirmedFor = kRefreshEvery + kRefreshEvery;
  // Orders beyond these wait for one to end.
  static constexpr std::size_t kOrdersUnderWayMax = 1024;
  // At a time, of what for_each() does.
  static constexpr std::size_t kTogetherMax = 64;

  // What it works with outlives it. `tag`: of the holds in the shared store.
  struct Parts {
    store::Store& shared;
    Shares& shares;
    LotBook& lots;
    const Clock& clock;
    std::string tag;
    // Asks whether the shared store is what it was (confirmed()); empty: nobody can tell.
    std::function<Result<void>()> confirm = {};
    bool has_threads = true;
    net::Cutoff* cutoff = nullptr;  // of all threads that end with it; null: it has none
  };
  explicit Carrier(Parts parts);
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  ~Carrier();

  // From now on the time of a stop runs.
  void begin_stop();
  // Gives back everything that can be given back in that time, and returns; it is stopped then. A shared store that is
  // away is not waited for.
  void stop();

  // Without, nothing ends while somebody waits for it.
  [[nodiscard]] bool has_threads() const { return parts_.has_threads; }

  // Soon, by the carrier; without threads at once, by the caller.
  void carry_out_later(Order order);
  // By the caller.
  void carry_out(const Order& order);
  // What the shares want by themselves, by the caller.
  void tend();
  // act(0) to act(count - 1), many at a time, on the carrier's thread; returns when all have ended. Without threads one
  // after the other. Not after stop().
  void for_each(std::size_t count, const std::function<void(std::size_t)>& act);
  // Settles a lot that is no share's: of a life of this node that was killed. Asked again until there is an answer.
  void settle_leftover(std::string id, Amount spent);

  // No draws are made while there is a reason not to; shares are spent while they last, and given back.
  void halt(std::optional<Error> reason);
  [[nodiscard]] std::optional<Error> halted() const;
  // That the shared store is what it was, by who asked then.
  struct Confirmed {
    Instant at;                                     // the beginning of time: never
    std::optional<std::uint64_t> connections = {};  // as connections() was then
  };
  void confirmed(const Confirmed& asked);
  [[nodiscard]] Confirmed confirmed() const;
  // How often connections to the shared store were lost, or calls had no answer: a store that is restored or fails over
  // does not do so without.
  [[nodiscard]] std::uint64_t connections() const;
  // An error: nothing may be asked of the shared store that draws on what limits have left, because the store may not
  // be what it was, or draws are not made.
  Result<void> make_sure();

 private:
  // These are on the carrier's thread.
  void run();
  void tend_again_and_again();
  void begin(Order order);
  void end_order();
  std::vector<Order> wanted();
  void finish();
  [[nodiscard]] bool is_out_of_time() const;
  [[nodiscard]] bool is_away() const { return failures_in_a_row_ >= kAwayAfter; }
  [[nodiscard]] bool has_orders() const { return fibers_.under_way() > 0 || !waiting_.empty(); }

  Result<OrderAnswer> ask(const Order& order);
  Result<OrderAnswer> draw(const Order& order);
  Result<OrderAnswer> settle(const Order& order);

  Parts parts_;
  mutable std::mutex mutex_;
  std::optional<Error> halted_;  // under mutex_
  Confirmed confirmed_;          // under mutex_
  net::FiberMutex making_sure_;  // one asks for all; taken before mutex_
  std::atomic<std::uint64_t> questions_{0};
  Result<void> answer_;           // to the last one; under making_sure_
  std::vector<Order> leftovers_;  // that had no answer; under mutex_
  Instant leftovers_at_;          // when they are asked again; under mutex_
  net::EventLoop loop_;
  net::Fibers fibers_{loop_};
  std::deque<Order> waiting_;
  bool is_finishing_ = false;
  std::atomic<int> failures_in_a_row_{0};  // of orders that had no answer
  std::optional<Instant> stop_by_;         // by parts_.clock
  bool is_stopped_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::escrow
