// BusyKeys: which keys are asked about most, in a few kilobytes.
//
// It counts in slices of a few seconds, and tells rates over the last two, or over the time since the key was first
// seen if that is shorter. Past the first ten thousand decisions of a slice it looks at one in 61. A key has one of a
// few slots, by its hash; if all are taken, it takes away from the least busy one's count, and has its slot when
// nothing is left. So a busy key is underrated at most, and counting takes the same short time whatever the keys are.
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
  static constexpr std::size_t kSlotsOfKey = 4;  // side by side; which ones, its hash says
  static constexpr std::uint64_t kSliceNs = 5'000'000'000;
  static constexpr std::uint64_t kSamplePeriod = 61;    // a prime: requests that come in turn are all met
  static constexpr std::uint64_t kCountedAll = 10'000;  // decisions of a slice: fewer samples would tell little
  // A rate says what would come in a second: it is not made of less.
  static constexpr std::uint64_t kCoveredMinNs = 1'000'000'000;

  struct Slot {
    std::uint64_t hash = 0;
    std::string limit = {};
    std::string key = {};
    std::uint64_t now = 0;  // in this slice
    std::uint64_t denied_now = 0;
    std::uint64_t before = 0;  // in the one before
    std::uint64_t denied_before = 0;
    std::uint64_t since_ns = 0;  // when it was first counted, of what is counted here
  };

  void count(const Charge& charge, bool is_allowed, std::uint64_t now_ns);
  void turn_slices(std::uint64_t now_ns);
  // The slot of this key, taken from another one if need be; null if that one is busier.
  Slot* find_slot(const Charge& charge, std::uint64_t weight);

  std::uint64_t until_sample_ = 1;
  std::uint64_t period_ = 1;  // how many decisions the next sample stands for
  mutable std::mutex mutex_;
  std::uint64_t slice_ = 0;
  std::uint64_t seen_ = 0;   // in this slice
  std::vector<Slot> slots_;  // none until something is counted
};

}  // namespace mete::server
