// Calls: the operations by name, for whoever would rather write store.usage({"api", "alice"}) than name the structure.
//
// Runner is what inherits them: it has run(operation).
#pragma once

#include <mete/decision.h>
#include <mete/limit.h>
#include <mete/result.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operations.h"

namespace mete::store {

using core::Commit;
using core::Hold;
using core::MeterName;
using core::Shift;
using core::Shifted;
using core::ShiftUsage;
using core::Take;
using StoreStatistics = core::Statistics;

template <class Runner>
class Calls {
 public:
  Result<void> define(const Limit& limit) { return run(core::Define{limit}); }
  Result<bool> drop(std::string_view name) { return run(core::Drop{name}); }
  [[nodiscard]] Result<std::optional<Limit>> limit(std::string_view name) { return run(core::FindLimit{name}); }
  [[nodiscard]] Result<std::vector<std::string>> limits() { return run(core::ListLimits()); }
  Result<void> set_override(const MeterName& meter, std::optional<Amount> amount) {
    return run(core::Override{meter, amount});
  }
  [[nodiscard]] Result<std::optional<Amount>> override_of(const MeterName& meter) {
    return run(core::FindOverride{meter});
  }

  Result<core::Verdict> take(const Take& take) { return run(take); }
  void take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) {
    static_cast<void>(run(core::TakeEach{charges, answers}));
  }
  [[nodiscard]] Result<std::optional<core::Verdict>> recall(const Take& take) { return run(core::Recall{take}); }
  Result<Settlement> give(std::span<const Charge> charges, std::string_view id) { return run(core::Give{charges, id}); }
  Result<core::Verdict> hold(const Hold& hold) { return run(hold); }
  Result<Settlement> commit(const Commit& commit) { return run(commit); }
  Result<Settlement> cancel(std::string_view id) { return run(core::Cancel{id}); }
  Result<Duration> extend(std::string_view id, Duration ttl) { return run(core::Extend{id, ttl}); }
  [[nodiscard]] Result<std::optional<HoldInfo>> find_hold(std::string_view id) { return run(core::FindHold{id}); }
  [[nodiscard]] Result<std::vector<std::string>> holds(const MeterName& meter, std::size_t count_max) {
    return run(core::ListHolds{meter, count_max});
  }
  [[nodiscard]] Result<std::vector<std::string>> holds_tagged(std::string_view tag) {
    return run(core::ListTagged{tag});
  }

  [[nodiscard]] Result<Usage> usage(const MeterName& meter) { return run(core::ReadUsage{meter}); }
  Result<Reconciliation> reconcile(const MeterName& meter, Amount used) { return run(core::Reconcile{meter, used}); }
  void shift(const ShiftUsage& shifts) { static_cast<void>(run(shifts)); }
  [[nodiscard]] Result<UsagePage> scan(std::string_view limit, std::uint64_t cursor, std::size_t count) {
    return run(core::ScanUsage{limit, cursor, count});
  }
  [[nodiscard]] Result<std::vector<HoldInfo>> oldest_holds(std::size_t count_max) {
    return run(core::OldestHolds{count_max});
  }
  Result<void> clear() { return run(core::Clear()); }
  // Nothing where it cannot be told.
  [[nodiscard]] StoreStatistics statistics() { return run(core::ReadStatistics()).value_or(StoreStatistics()); }

 private:
  template <class What>
  Result<typename What::Answer> run(const What& operation) {
    return static_cast<Runner&>(*this).run(operation);
  }
};

}  // namespace mete::store
