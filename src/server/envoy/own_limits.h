// OwnLimits: the limits that requests bring with them, as far as they have been seen to.
//
// For each list of keys and each unit there is one limit, whose amount is the first that came. A meter that is asked
// with another amount gets that as its own, as by LIMIT OVERRIDE: so there are as many limits as there are lists of
// keys, whatever amounts come, and a user whose amount changes keeps what is used.
//
// Thread safety: all of it may be called from any thread.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/store.h"

namespace mete::server::envoy {

class OwnLimits {
 public:
  // Whether the key is known to have this amount.
  [[nodiscard]] bool has(std::string_view limit, std::string_view key, Amount amount) const;
  void note(std::string_view limit, std::string_view key, Amount amount);
  // It has another one after all.
  void forget(std::string_view limit, std::string_view key);

  // Lets the key have the limit's amount in the store. May take long.
  Result<void> see_to(store::Store& store, const Limit& limit, const std::string& key);

 private:
  // What is not remembered is looked up again.
  static constexpr std::size_t kMetersMax = 100'000;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Amount> amounts_;  // by limit and key
};

}  // namespace mete::server::envoy
