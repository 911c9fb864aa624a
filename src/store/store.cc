#include "store/store.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"
#include "core/validate.h"
#include "store/checks.h"

namespace mete::store {

namespace {

Result<void> validate_meter(const MeterName& meter) {
  return all_of(core::validate_name(meter.limit), core::validate_key(meter.key));
}

Result<void> validate_take(const TakeRequest& request) {
  return all_of(core::validate_charges(request.charges, core::CostRange::kFromZero),
                core::validate_mode(request.charges, request.mode, request.id));
}

}  // namespace

Result<void> Store::define(const Limit& limit) {
  return checked(core::validate_limit(limit), [&] { return do_define(limit); });
}

Result<bool> Store::drop(std::string_view name) {
  return checked(core::validate_name(name), [&] { return do_drop(name); });
}

Result<std::optional<Limit>> Store::limit(std::string_view name) {
  return checked(core::validate_name(name), [&] { return do_limit(name); });
}

Result<std::vector<std::string>> Store::limits() { return do_limits(); }

Result<void> Store::set_override(const MeterName& meter, std::optional<Amount> amount) {
  return checked(all_of(validate_meter(meter), core::validate_amount(amount.value_or(1))),
                 [&] { return do_set_override(meter, amount); });
}

Result<std::optional<Amount>> Store::override_of(const MeterName& meter) {
  return checked(validate_meter(meter), [&] { return do_override_of(meter); });
}

Result<core::Verdict> Store::take(const TakeRequest& request) {
  const bool is_plain = request.charges.size() == 1 && request.mode == Mode::kTake && request.id.empty();
  if (is_plain && core::is_plainly_valid(request.charges[0])) return do_take(request);
  return checked(validate_take(request), [&] { return do_take(request); });
}

void Store::take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) {
  CHECK(answers.size() == charges.size());
  if (std::all_of(charges.begin(), charges.end(), core::is_plainly_valid)) {
    do_take_each(charges, answers);
    return;
  }
  for (std::size_t i = 0; i < charges.size(); ++i) answers[i] = take({.charges = charges.subspan(i, 1)});
}

void Store::do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) {
  for (std::size_t i = 0; i < charges.size(); ++i) answers[i] = do_take({.charges = charges.subspan(i, 1)});
}

Result<std::optional<core::Verdict>> Store::recall(const TakeRequest& request) {
  if (auto ok = validate_take(request); !ok) return tl::make_unexpected(ok.error());
  if (request.id.empty()) return std::nullopt;
  return do_recall(request);
}

Result<Settlement> Store::give(std::span<const Charge> charges, std::string_view id) {
  return checked(all_of(core::validate_charges(charges, core::CostRange::kFromOne), core::validate_id(id)),
                 [&] { return do_give(charges, id); });
}

std::string Store::new_hold_id(std::span<const Charge> /*charges*/) const { return base::random_id(); }

Result<core::Verdict> Store::hold(const HoldRequest& request) {
  return checked(
      all_of(core::validate_charges(request.charges, core::CostRange::kFromOne), core::validate_ttl(request.ttl),
             core::validate_id(request.id), core::validate_tag(request.tag)),
      [&] { return do_hold(request); });
}

Result<Settlement> Store::commit(const CommitRequest& request) {
  if (auto ok = core::validate_hold_id(request.id); !ok) return tl::make_unexpected(ok.error());
  for (const Amount amount : request.amounts) {
    if (auto ok = core::validate_used(amount); !ok) return tl::make_unexpected(ok.error());
  }
  return do_commit(request);
}

Result<Settlement> Store::cancel(std::string_view id) {
  return checked(core::validate_hold_id(id), [&] { return do_cancel(id); });
}

Result<Duration> Store::extend(std::string_view id, Duration ttl) {
  return checked(all_of(core::validate_hold_id(id), core::validate_ttl(ttl)), [&] { return do_extend(id, ttl); });
}

Result<std::optional<HoldInfo>> Store::find_hold(std::string_view id) {
  return checked(core::validate_hold_id(id), [&] { return do_find_hold(id); });
}

Result<std::vector<std::string>> Store::holds(const MeterName& meter, std::size_t count_max) {
  return checked(validate_meter(meter), [&] { return do_holds(meter, count_max); });
}

Result<std::vector<std::string>> Store::holds_tagged(std::string_view tag) {
  return checked(core::validate_tag(tag), [&] { return do_holds_tagged(tag); });
}

Result<Usage> Store::usage(const MeterName& meter) {
  return checked(validate_meter(meter), [&] { return do_usage(meter); });
}

Result<Reconciliation> Store::reconcile(const MeterName& meter, Amount used) {
  return checked(all_of(validate_meter(meter), core::validate_used(used)), [&] { return do_reconcile(meter, used); });
}

void Store::shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  CHECK(answers.size() == request.shifts.size());
  const auto validate = [&](const Shift& shift) {
    return all_of(validate_meter({request.limit, shift.key}), core::validate_change(shift.change));
  };
  const auto is_valid = [&](const Shift& shift) { return validate(shift).has_value(); };
  if (std::all_of(request.shifts.begin(), request.shifts.end(), is_valid)) {
    do_shift(request, answers);
    return;
  }
  for (std::size_t i = 0; i < request.shifts.size(); ++i) {
    if (auto ok = validate(request.shifts[i]); !ok) {
      answers[i] = tl::make_unexpected(std::move(ok.error()));
    } else {
      do_shift({.limit = request.limit, .since = request.since, .shifts = request.shifts.subspan(i, 1)},
               answers.subspan(i, 1));
    }
  }
}

Result<UsagePage> Store::scan(std::string_view limit, std::uint64_t cursor, std::size_t count) {
  return checked(core::validate_name(limit), [&] { return do_scan(limit, cursor, count); });
}

Result<std::vector<HoldInfo>> Store::oldest_holds(std::size_t count_max) { return do_oldest_holds(count_max); }

Result<void> Store::clear() { return do_clear(); }

StoreStatistics Store::statistics() { return do_statistics(); }

Result<void> check_scope(const Store& store, const Limit& limit) {
  if (limit.scope() != Scope::kEscrow || store.draws_shares()) return {};
  return tl::make_unexpected(
      Error{ErrorCode::kInvalid, "scope: escrow needs shared and node in [escrow] of mete.toml: use node or shared"});
}

Result<void> define_in_scope(Store& store, const Limit& limit) {
  return checked(check_scope(store, limit), [&] { return store.define(limit); });
}

}  // namespace mete::store
