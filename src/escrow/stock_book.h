// StockBook: this node's shares of stocks in its own store, so that they outlive a crash. A stock has no window with
// which a lost share would come back.
//
// Of each stock S the node's store has two limits of its own:
//     mete.share:S   what the node has of a key, as what is left of a very large amount
//     mete.draw:S    draws that were sent and have no answer yet, as holds
// Whatever is asked of the shared store is written here first, and its effect here has the same id: so after a crash
// each step can be made again, and happens once. A crash between writing and asking loses nothing; one between asking
// and the answer asks again under the same id.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "escrow/terms.h"
#include "net/fiber_mutex.h"
#include "store/store.h"

namespace mete::escrow {

class StockBook {
 public:
  // The store outlives the book.
  explicit StockBook(store::Store& local) : local_(local) {}

  static constexpr std::string_view kSharePrefix = "mete.share:";
  static constexpr std::string_view kDrawPrefix = "mete.draw:";
  static_assert(kDrawPrefix.size() <= kSharePrefix.size(), "the longest name that a stock may have goes by the longer");

  // Makes the limits for a stock of that name.
  Result<void> open(std::string_view limit);
  // The stock is gone, and so is what the node had of it.
  Result<void> close(std::string_view limit);

  // Before a draw is sent, and when it has its answer.
  Result<void> begin_draw(const Order& order);
  Result<void> end_draw(const Order& order, bool is_granted);
  // Before a part of the share is given back, and when that has its answer.
  Result<void> begin_return(const Order& order);
  Result<void> end_return(const Order& order);
  Result<void> spend(const store::MeterName& meter, Amount units, store::Execution& execution);
  Result<void> unspend(const store::MeterName& meter, Amount units, store::Execution& execution);

  // What is written here of a stock: for a node that starts.
  struct Entry {
    std::string key;
    Amount units = 0;
  };
  [[nodiscard]] Result<std::vector<Entry>> shares_of(std::string_view limit);
  // Draws and returns that have no answer, as the orders they were.
  struct Open {
    Order order;
    Duration age;
  };
  [[nodiscard]] Result<std::vector<Open>> open_orders();

 private:
  Result<void> hold(std::string_view limit, const Order& order, std::string_view tag);
  Result<void> ensure_empty(std::string_view limit, std::string_view key);

  store::Store& local_;
  net::FiberMutex mutex_;                  // held while the store of this node is asked
  std::unordered_set<std::string> known_;  // meters that are there: limit, '\0', key
};

}  // namespace mete::escrow
