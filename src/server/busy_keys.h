// BusyKeys: which keys are asked about most, in a few kilobytes.
//
// It counts in slices of a few seconds, and tells rates over the last two. Past the first thousand decisions of a slice
// it looks at one in 61. A key has one slot, by its hash; of those that share it the busiest one wins: every other one
// takes away from its count, and has the slot when nothing is left. So a busy key is underrated at most, and counting
// takes the same short time whatever the keys are.
//
// Thread safety: observe() from one thread; add_to() from any.
#pragma once

#include <mete/decision.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mete::server {

struct BusyKey {
  std::string limit;
  std::string key;
  std::uint64_t decisions = 0;  // a second, about
  std::uint64_t denied = 0;
};

class BusyKeys {
 public:
  void observe(const Charge& charge, bool is_allowed, std::uint64_t now_ns) {
    if (--until_sample_ == 0) count(charge, is_allowed, now_ns);
  }
  // Adds the rates to `sums`, by limit and key.
  void add_to(std::map<std::pair<std::string, std::string>, BusyKey>& sums, std::uint64_t now_ns) const;

 private:
  static constexpr std::size_t kSlots = 1024;
  static constexpr std::uint64_t kSliceNs = 5'000'000'000;
  static constexpr std::uint64_t kSamplePeriod = 61;   // a prime: requests that come in turn are all met
  static constexpr std::uint64_t kCountedAll = 1'000;  // decisions of a slice

  struct Slot {
    std::uint64_t hash = 0;
    std::string limit = {};
    std::string key = {};
    std::uint64_t now = 0;  // in this slice
    std::uint64_t denied_now = 0;
    std::uint64_t before = 0;  // in the one before
    std::uint64_t denied_before = 0;
  };

  void count(const Charge& charge, bool is_allowed, std::uint64_t now_ns);
  void turn_slices(std::uint64_t now_ns);

  std::uint64_t until_sample_ = 1;
  std::uint64_t period_ = 1;  // how many decisions the next sample stands for
  mutable std::mutex mutex_;
  std::uint64_t slice_ = 0;
  std::uint64_t seen_ = 0;   // in this slice
  std::vector<Slot> slots_;  // none until something is counted
};

}  // namespace mete::server
