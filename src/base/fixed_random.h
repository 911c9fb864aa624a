// FixedRandom: while it lives, base::random_number() and base::random_id() on this thread are made of a seed: for
// simulations, whose runs must be the same each time. Thread safety: one thread, and one at a time.
#pragma once

#include <cstdint>

namespace mete::base {

class FixedRandom {
 public:
  explicit FixedRandom(std::uint64_t seed);
  FixedRandom(const FixedRandom&) = delete;
  FixedRandom& operator=(const FixedRandom&) = delete;
  ~FixedRandom();

  // The one of this thread; null: there is none.
  static FixedRandom* current();
  std::uint64_t next();

 private:
  std::uint64_t state_;
};

}  // namespace mete::base
