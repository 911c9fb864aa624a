// Stranded: what earlier lives of this node had drawn and did not give back, since they were killed. It is used in the
// shared store until its window ends; how much of it was spent is not known. Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <mutex>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace mete::escrow {

class Stranded {
 public:
  // Looks for the holds of that tag that are in the shared store now. `now`: by the clock of amount().
  Result<void> look(store::Store& shared, std::string_view tag, Instant now);
  [[nodiscard]] Amount amount(Instant now) const;

 private:
  // A node that draws this much and is killed has other worries than an exact number.
  static constexpr std::size_t kHoldsMax = 10'000;

  struct Lost {
    Amount units = 0;
    Instant until;
  };

  mutable std::mutex mutex_;
  std::vector<Lost> lost_;
};

}  // namespace mete::escrow
