// BusyKeys: which keys are asked about most, in a few kilobytes.
//
// It counts in slices of a few seconds, and tells rates over the last two. When there are many decisions it looks at
// one in sixteen. When there are more keys than it has room for, the least busy one makes way, and the newcomer starts
// with its count: a busy key is never missed, one that is not may be overrated.
//
// Thread safety: observe() from one thread; add_to() from any.
#pragma once

#include <mete/decision.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

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
    if (++seen_ % period_ == 0) count(charge, is_allowed, now_ns);
  }
  // Adds the rates to `sums`, by limit and key.
  void add_to(std::map<std::pair<std::string, std::string>, BusyKey>& sums, std::uint64_t now_ns) const;

 private:
  static constexpr std::size_t kKeysMax = 512;
  static constexpr std::uint64_t kSliceNs = 5'000'000'000;
  static constexpr std::uint64_t kSamplePeriod = 16;
  static constexpr std::uint64_t kSampledAbove = 50'000;  // decisions in a slice

  struct Counts {
    std::uint64_t before = 0;  // in the slice before
    std::uint64_t now = 0;
    std::uint64_t denied_before = 0;
    std::uint64_t denied_now = 0;
  };

  void count(const Charge& charge, bool is_allowed, std::uint64_t now_ns);
  void turn_slices(std::uint64_t now_ns);
  Counts& counts_of(std::string name);

  std::uint64_t seen_ = 0;    // in this slice
  std::uint64_t period_ = 1;  // one of so many is looked at
  mutable std::mutex mutex_;
  std::uint64_t slice_ = 0;
  std::unordered_map<std::string, Counts> counts_;  // by limit, NUL, key
};

}  // namespace mete::server
