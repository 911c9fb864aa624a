// All operations there are: a closed list, which stores and the messages between servers go through; and what their
// parameters may be: validate(operation) names the field that is wrong.
#pragma once

#include <cstddef>
#include <type_traits>

#include "base/try.h"
#include "core/key_operations.h"
#include "core/operations.h"
#include "core/validate.h"

namespace mete::core {

template <class... Operations>
struct OperationList {
  // The number of one of them.
  template <class Operation>
  static constexpr std::size_t number_of() {
    std::size_t number = 0;
    static_cast<void>(((std::is_same_v<Operation, Operations> || (++number, false)) || ...));
    return number;
  }
};

using AllOperations =
    OperationList<Take, TakeEach, Hold, Commit, Cancel, Give, ReadUsage, Recall, Extend, FindHold, ListHolds,
                  ListTagged, OldestHolds, Reconcile, ShiftUsage, ScanUsage, Define, Drop, FindLimit, ListLimits,
                  Override, FindOverride, Clear, ReadStatistics, GetKey, SetCounter, TakeOut, AddToCounter, AddBounded,
                  SetQuota, GetQuota, RemoveQuota, TakeQuota, Throttle, KeysEach, TypeOfKey, RemoveKey, FindExpiry,
                  ExpireKey, PersistKey, ScanKeys, CountKeys>;

// Whether it is on keys: not every store has them.
template <class Operation>
inline constexpr bool kIsOnKeys = Operation::kTraits.home == Home::kKey || std::is_same_v<Operation, KeysEach> ||
                                  std::is_same_v<Operation, ScanKeys> || std::is_same_v<Operation, CountKeys>;

// Whether it may be carried out once more when nobody knows whether it was.
template <class Operation>
bool is_repeatable(const Operation& operation) {
  if constexpr (std::is_same_v<Operation, Take>) {
    if (operation.mode == Mode::kPeek) return true;
  }
  if constexpr (Operation::kTraits.repeat == Repeat::kWithId) {
    return !operation.id.empty();
  } else {
    return Operation::kTraits.repeat == Repeat::kAlways;
  }
}

// --- Checks ----------------------------------------------------------------------------------------------------------

inline Result<void> validate(const MeterName& meter) {
  TRY(validate_name(meter.limit));
  return validate_key(meter.key);
}

// --- Takes -----------------------------------------------------------------------------------------------------------

// Whether the take is what nearly every take is, and right: then there is nothing left to check.
inline bool is_plainly_valid(const Take& take) {
  return take.charges.size() == 1 && take.mode == Mode::kTake && take.id.empty() && is_plainly_valid(take.charges[0]);
}
inline Result<void> validate(const Take& take) {
  if (is_plainly_valid(take)) return {};
  TRY(validate_charges(take.charges, CostRange::kFromZero));
  return validate_mode(take.charges, take.mode, take.id);
}
inline Result<void> validate(const Recall& recall) { return validate(recall.take); }
inline Result<void> validate(const Give& give) {
  TRY(validate_charges(give.charges, CostRange::kFromOne));
  return validate_id(give.id);
}

// --- Holds -----------------------------------------------------------------------------------------------------------

inline Result<void> validate(const Hold& hold) {
  TRY(validate_charges(hold.charges, CostRange::kFromOne));
  TRY(validate_ttl(hold.ttl));
  TRY(validate_id(hold.id));
  return validate_tag(hold.tag);
}
inline Result<void> validate(const Commit& commit) {
  TRY(validate_hold_id(commit.id));
  for (const Amount amount : commit.amounts) TRY(validate_used(amount));
  return {};
}
inline Result<void> validate(const Cancel& cancel) { return validate_hold_id(cancel.id); }
inline Result<void> validate(const Extend& extend) {
  TRY(validate_hold_id(extend.id));
  return validate_ttl(extend.ttl);
}
inline Result<void> validate(const FindHold& find) { return validate_hold_id(find.id); }
inline Result<void> validate(const ListHolds& list) { return validate(list.meter); }
inline Result<void> validate(const ListTagged& list) { return validate_tag(list.tag); }
inline Result<void> validate(const OldestHolds& /*oldest*/) { return {}; }

// --- Meters and definitions ------------------------------------------------------------------------------------------

inline Result<void> validate(const ReadUsage& read) { return validate(read.meter); }
inline Result<void> validate(const Reconcile& reconcile) {
  TRY(validate(reconcile.meter));
  return validate_used(reconcile.used);
}
inline Result<void> validate(const ScanUsage& scan) { return validate_name(scan.limit); }
inline Result<void> validate(const Define& define) { return validate_limit(define.limit); }
inline Result<void> validate(const Drop& drop) { return validate_name(drop.name); }
inline Result<void> validate(const FindLimit& find) { return validate_name(find.name); }
inline Result<void> validate(const ListLimits& /*list*/) { return {}; }
inline Result<void> validate(const Override& change) {
  TRY(validate(change.meter));
  return validate_amount(change.amount.value_or(1));
}
inline Result<void> validate(const FindOverride& find) { return validate(find.meter); }
inline Result<void> validate(const Clear& /*clear*/) { return {}; }
inline Result<void> validate(const ReadStatistics& /*read*/) { return {}; }

// --- Keys ------------------------------------------------------------------------------------------------------------

inline Result<void> validate(const SetCounter& set) {
  TRY(validate_key(set.key));
  return validate_expiry(set.expiry, ExpiryRange::kAboveZero);
}
inline Result<void> validate(const AddBounded& add) {
  TRY(validate_key(add.key));
  TRY(validate_bounds(add));
  return validate_expiry(add.expiry, ExpiryRange::kAboveZero);
}
inline Result<void> validate(const SetQuota& set) {
  TRY(validate_key(set.key));
  return validate_quota(set.rule);
}
inline Result<void> validate(const TakeQuota& take) {
  TRY(validate_key(take.key));
  TRY(validate_quota(take.rule));
  return validate_consumption(take.units);
}
inline Result<void> validate(const Throttle& throttle) {
  TRY(validate_key(throttle.key));
  return validate_throttle(throttle.request);
}
inline Result<void> validate(const ExpireKey& expire) {
  TRY(validate_key(expire.key));
  return validate_expiry(expire.expiry, ExpiryRange::kAny);
}
inline Result<void> validate(const ScanKeys& /*scan*/) { return {}; }
inline Result<void> validate(const CountKeys& /*count*/) { return {}; }
// All others have nothing but a key.
template <class Operation>
requires(Operation::kTraits.home == Home::kKey) Result<void> validate(const Operation& operation) {
  return validate_key(operation.key);
}

}  // namespace mete::core
