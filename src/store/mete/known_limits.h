// KnownLimits: of the limits that were used here, what is needed while their server is away: whether they are open
// then.
//
// A limit is asked for together with the first take of it, and again with one now and then: whoever redefines it
// elsewhere need not tell anyone. Names that are no limits are not kept. Thread safety: every call from any thread.
#pragma once

#include <mete/limit.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "store/open_admission.h"

namespace mete::store::servers {

class KnownLimits {
 public:
  static constexpr Duration kFreshFor = std::chrono::seconds(5);

  // Whether somebody should ask for the limit now. One caller is told so, and then nobody for a while.
  bool is_due(std::string_view name, Instant now) {
    {
      const std::shared_lock lock(mutex_);
      const auto known = limits_.find(name);
      if (known != limits_.end() && now < known->second.due_at) return false;
    }
    const std::unique_lock lock(mutex_);
    const auto known = limits_.find(name);
    if (known == limits_.end()) return true;
    const bool is_due = now >= known->second.due_at;
    if (is_due) known->second.due_at = now + kFreshFor;
    return is_due;
  }

  void learn(const Limit& limit, Instant now) {
    const std::unique_lock lock(mutex_);
    limits_[limit.name()] = {.when_away = WhenAway::of(limit), .due_at = now + kFreshFor};
  }
  void forget(std::string_view name) {
    const std::unique_lock lock(mutex_);
    if (const auto known = limits_.find(name); known != limits_.end()) limits_.erase(known);
  }

  // The answer to a take while its server is away; none unless each of its limits is known to be open then.
  [[nodiscard]] std::optional<core::Verdict> admit_open(const core::Take& request) const {
    const std::shared_lock lock(mutex_);
    return admit_if_open(request, [this](std::string_view name) {
      const auto known = limits_.find(name);
      return known == limits_.end() ? std::nullopt : std::optional(known->second.when_away);
    });
  }

 private:
  struct Known {
    WhenAway when_away;
    Instant due_at;
  };

  mutable std::shared_mutex mutex_;
  std::map<std::string, Known, std::less<>> limits_;  // under mutex_
};

}  // namespace mete::store::servers
