// What the files of RedisStore share about holds. Internal to them.
#pragma once

#include <chrono>

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
  std::vector<Part> parts;

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

// What is to become of an open hold.
struct RedisStore::Closing {
  std::string_view operation;
  std::span<const Amount> amounts = {};  // commit: one per charge, or none
  bool allow_overage = false;
  std::uint64_t ttl_us = 0;    // extend
  std::string_view home = {};  // in a Cluster: the key that the hold's record lies with

  [[nodiscard]] bool is_commit() const { return operation == "commit"; }
};

}  // namespace mete::store::redis
