// LotBook: the lots of stocks and of long windows that this node has, in its own store, so that a crash does not lose
// what is left of them. Each is a meter of one limit of the node's own:
//
//     mete.lots   stock; key: the id of the draw, and so of the hold in the shared store; used: 2^52 and what is spent
//
// It is written before the draw is sent, and removed when the hold is settled there. What is spent is written before it
// is told. So after a crash whatever stands here is settled: what was spent is committed, and the rest is given back.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace mete::escrow {

class LotBook {
 public:
  // The store outlives the book.
  explicit LotBook(store::Store& local) : local_(local) {}

  // Makes its limit: before the first use.
  Result<void> open();
  // Before a draw is sent; again, if it is sent again.
  Result<void> begin(std::string_view id);
  // So much more is spent of it; below 0: so much less, which was undone.
  Result<void> spend(std::string_view id, Amount units, store::Execution& execution);
  // Its hold is settled, or was never made.
  Result<void> end(std::string_view id);

  // What stands here: for a node that starts.
  struct Entry {
    std::string id;
    Amount spent = 0;  // kAmountMax: all of it, or nobody knows
  };
  [[nodiscard]] Result<std::vector<Entry>> entries();
  // All of it is another node's.
  Result<void> forget();

 private:
  store::Store& local_;
};

}  // namespace mete::escrow
