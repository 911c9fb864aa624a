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
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "escrow/lot_book.h"
#include "escrow/shares.h"
#include "escrow/terms.h"
#include "net/event_loop.h"
#include "net/fiber.h"
#include "store/store.h"

namespace mete::escrow {

class Carrier {
 public:
  // How long a stop may take before what is left is left; calls under way end a little later.
  static constexpr Duration kStopWithin = std::chrono::seconds(8);
  // A stop that hears this often in a row that the shared store does not answer asks no more.
  static constexpr int kAwayAfter = 100;
  // Orders beyond these wait for one to end.
  static constexpr std::size_t kOrdersUnderWayMax = 1024;

  // What it works with outlives it. `tag`: of the holds in the shared store.
  struct Parts {
    store::Store& shared;
    Shares& shares;
    LotBook& lots;
    const Clock& clock;
    std::string tag;
    bool has_threads = true;
  };
  explicit Carrier(Parts parts);
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  ~Carrier();

  // Gives back everything that can be given back within ten seconds, and returns; it is stopped then. A shared store
  // that is away is not waited for.
  void stop();

  // Soon, by the carrier; without threads at once, by the caller.
  void carry_out_later(Order order);
  // By the caller.
  void carry_out(const Order& order);
  // What the shares want by themselves, by the caller.
  void tend();
  // Settles a lot that is no share's: of a life of this node that was killed. Asked again until there is an answer.
  void settle_leftover(std::string id, Amount spent);

  // From now on no draws are made, for that reason; shares are spent while they last, and given back.
  void halt(Error reason);
  [[nodiscard]] std::optional<Error> halted() const;

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
  std::optional<Error> halted_;   // under mutex_
  std::vector<Order> leftovers_;  // that had no answer; under mutex_
  Instant leftovers_at_;          // when they are asked again; under mutex_
  net::EventLoop loop_;
  net::Fibers fibers_{loop_};
  std::deque<Order> waiting_;
  bool is_finishing_ = false;
  std::atomic<int> failures_in_a_row_{0};  // of orders that had no answer
  std::optional<Instant> stop_by_;         // by parts_.clock
  std::thread thread_;                     // last: it uses all of the above
};

}  // namespace mete::escrow
