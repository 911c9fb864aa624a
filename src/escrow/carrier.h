// Carrier: carries out orders at the shared store, on threads of its own, and tells the shares what came of it.
//
// One thread looks every few milliseconds what the shares want by themselves; some carry out orders, several at a time,
// so that a store that is far away does not make one meter wait for another.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>
#include <mete/result.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "escrow/shares.h"
#include "escrow/stock_book.h"
#include "escrow/terms.h"
#include "store/store.h"

namespace mete::escrow {

class Carrier {
 public:
  // What it works with outlives it. `tag`: of the holds in the shared store.
  struct Parts {
    store::Store& shared;
    Shares& shares;
    StockBook& book;
    const Clock& clock;
    std::string tag;
  };
  explicit Carrier(Parts parts);
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  // Gives back everything; what the shared store does not take at once is lost until its window ends.
  ~Carrier();

  // On another thread, soon.
  void carry_out_later(Order order);
  // On this thread.
  void carry_out(const Order& order);

  // From now on no draws are made, for that reason; shares are spent while they last, and given back.
  void halt(Error reason);
  [[nodiscard]] std::optional<Error> halted() const;

 private:
  void tend_until_stopped();
  void carry_until_stopped();
  Result<OrderAnswer> ask(const Order& order);
  Result<OrderAnswer> draw(const Order& order);
  Result<OrderAnswer> settle(const Order& order);
  Result<OrderAnswer> draw_stock(const Order& order);
  Result<OrderAnswer> settle_stock(const Order& order);

  Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<Order> queue_;
  std::optional<Error> halted_;
  bool is_stopping_ = false;  // nothing is looked for any more
  bool is_drained_ = false;   // nothing comes into the queue any more
  std::thread tender_;        // last: they use all of the above
  std::vector<std::thread> carriers_;
};

}  // namespace mete::escrow
