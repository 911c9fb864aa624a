// Census: how much there is of Mete's in a Redis. Nothing there counts it, as that would cost each operation; so this
// walks over all keys every half minute, a page at a time, behind everything else. What it tells is about what there
// was then.
//
//     Census census(link);
//     while (…) census.go_on({.epoch = 0, .now_us = …});     // for a moment, now and then
//     census.counts().open_holds
//
// Ownership: borrows the link. Thread safety: counts() from any thread, go_on() from one.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "store/redis/client/link.h"

namespace mete::store::redis {

class Census {
 public:
  // A walk begins so long after the one before it.
  explicit Census(Link& link, Duration every = std::chrono::seconds(30)) : link_(link), every_(every) {}

  struct Present {
    std::uint64_t epoch = 0;
    std::uint64_t now_us = 0;
  };
  // Walks on, for a small part of the time: nothing happens if it has just been done.
  Result<void> go_on(const Present& present);

  // Meters that have been found since the last call of which something has expired that stays there until somebody
  // settles it. Not beside go_on().
  std::vector<std::string> take_unsettled() { return std::exchange(unsettled_, {}); }
  // Of the last walk that has come to its end; before that nothing is known.
  [[nodiscard]] core::Statistics counts() const;

 private:
  // Names of holds, hashed: SCAN may tell a key twice, and in a Cluster a hold has a record for each of its keys.
  using Holds = std::unordered_set<std::uint64_t>;

  struct Walk {
    std::size_t node = 0;
    std::string cursor = "0";
    std::size_t meters = 0;
    std::size_t keys = 0;
    std::size_t ids = 0;
    Holds open = {};
    Holds expired = {};
  };

  Result<bool> count_page(const Present& present);
  void add_holds(const wire::RespValue& names, Holds& holds) const;
  void finish();

  Link& link_;
  const Duration every_;
  std::uint64_t began_ns_ = 0;  // the walk; by the monotonic clock, as the next
  std::uint64_t went_on_ns_ = 0;
  bool is_walking_ = false;
  Walk walk_;
  std::vector<std::string> unsettled_;
  std::size_t expired_ever_ = 0;
  bool has_walked_ = false;
  Holds expired_before_;  // as the last walk found them
  mutable std::mutex mutex_;
  core::Statistics counts_;  // under mutex_
};

}  // namespace mete::store::redis
