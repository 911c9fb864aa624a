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

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "escrow/shares.h"
#include "escrow/stock_book.h"
#include "escrow/terms.h"
#include "net/event_loop.h"
#include "net/fiber.h"
#include "store/store.h"

namespace mete::escrow {

class Carrier {
 public:
  // Orders beyond these wait for one to end.
  static constexpr std::size_t kOrdersUnderWayMax = 1024;

  // What it works with outlives it. `tag`: of the holds in the shared store.
  struct Parts {
    store::Store& shared;
    Shares& shares;
    StockBook& book;
    const Clock& clock;
    std::string tag;
    bool has_threads = true;
  };
  explicit Carrier(Parts parts);
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  // Gives back everything; what the shared store does not take at once is lost until its window ends.
  ~Carrier();

  // Soon, by the carrier; without threads at once, by the caller.
  void carry_out_later(Order order);
  // By the caller.
  void carry_out(const Order& order);
  // What the shares want by themselves, by the caller.
  void tend();

  // From now on no draws are made, for that reason; shares are spent while they last, and given back.
  void halt(Error reason);
  [[nodiscard]] std::optional<Error> halted() const;

 private:
  // These are on the carrier's thread.
  void run();
  void tend_again_and_again();
  void begin(Order order);
  void end_order();
  void finish();
  [[nodiscard]] bool has_orders() const { return fibers_.under_way() > 0 || !waiting_.empty(); }

  Result<OrderAnswer> ask(const Order& order);
  Result<OrderAnswer> draw(const Order& order);
  Result<OrderAnswer> settle(const Order& order);
  Result<OrderAnswer> draw_stock(const Order& order);
  Result<OrderAnswer> settle_stock(const Order& order);

  Parts parts_;
  mutable std::mutex mutex_;
  std::optional<Error> halted_;  // under mutex_
  net::EventLoop loop_;
  net::Fibers fibers_{loop_};
  std::deque<Order> waiting_;
  bool is_finishing_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::escrow
