// What the files of RedisStore share about holds. Internal to them.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/redis/redis_store.h"

namespace mete::store::redis {

// A hold as its record tells it.
struct RedisStore::FoundHold {
  struct Part {
    std::string limit;
    std::string key;
    Amount units = 0;
    bool is_backed = true;
    std::uint64_t born = 0;  // the limit's: one that was dropped and defined anew has no part in this hold
  };

  std::uint64_t now_us = 0;
  std::uint64_t made_us = 0;
  HoldState state = HoldState::kHeld;
  std::uint64_t expires_us = 0;
  std::string tag;
  std::vector<Part> parts;  // their units: once it is committed, what was committed
  // Of one that was committed or cancelled: how that was answered; nil if that was not kept then.
  wire::RespValue ending;
  bool is_of_all = false;  // committed to all that was held

  [[nodiscard]] bool has_units(std::span<const Amount> amounts) const {
    return std::ranges::equal(parts, amounts, {}, &Part::units);
  }
  [[nodiscard]] Amount units() const {
    Amount units = 0;
    for (const Part& part : parts) units += part.units;
    return units;
  }

  [[nodiscard]] HoldInfo info(std::string_view id) const {
    HoldInfo info{.id = std::string(id),
                  .state = state,
                  .expires_in = {},
                  .age = Duration(std::chrono::microseconds(now_us - made_us)),
                  .tag = tag,
                  .charges = {}};
    if (state == HoldState::kHeld) info.expires_in = Duration(std::chrono::microseconds(expires_us - now_us));
    for (const Part& part : parts) info.charges.push_back({part.limit, part.key, part.units});
    return info;
  }
};

// Holds that were made through this store, so that their ends need no look at them. The latest of them; the others are
// looked for. Thread safety: any thread.
class RedisStore::RecentHolds {
 public:
  void put(std::string_view id, FoundHold hold);
  [[nodiscard]] std::optional<FoundHold> find(std::string_view id) const;
  void forget(std::string_view id);

 private:
  static constexpr std::size_t kHoldsMax = 10'000;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, FoundHold> holds_;
  std::deque<std::string> ids_;  // the oldest first; some of which are forgotten
};

// What is to become of an open hold.
struct RedisStore::Closing {
  std::string_view operation;
  std::span<const Amount> amounts = {};  // commit: one per charge, or none
  bool allow_overage = false;
  std::uint64_t ttl_us = 0;    // extend
  std::string_view home = {};  // in a Cluster: the key that the hold's record lies with

  [[nodiscard]] bool is_commit() const { return operation == "commit"; }
  // Whether that is how a hold has ended.
  [[nodiscard]] bool leads_to(HoldState state) const {
    return is_commit() ? state == HoldState::kCommitted : operation == "cancel" && state == HoldState::kCancelled;
  }
};

}  // namespace mete::store::redis
