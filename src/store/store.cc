#include "store/store.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"

namespace mete::store {

namespace {

Result<void> validate(const core::ShiftUsage& shifts, const Shift& shift) {
  TRY(core::validate(MeterName{shifts.limit, shift.key}));
  return core::validate_change(shift.change);
}

// Those answers that were not made, because nothing could be done.
template <class Answer>
Result<void> tell_all(const Result<void>& done, std::span<Result<Answer>> answers) {
  if (!done) std::fill(answers.begin(), answers.end(), Result<Answer>(done.error()));
  return done;
}

}  // namespace

Result<std::optional<core::Verdict>> Store::run(const core::Recall& recall, Execution& execution) {
  TRY(core::validate(recall));
  if (recall.take.id.empty()) return std::nullopt;
  return perform_checked(recall, execution);
}

Result<void> Store::run(const core::TakeEach& takes, Execution& execution) {
  CHECK(takes.answers.size() == takes.charges.size());
  const auto is_valid = [](const Charge& charge) { return core::is_plainly_valid(charge); };
  if (std::all_of(takes.charges.begin(), takes.charges.end(), is_valid)) {
    return tell_all(perform_checked(takes, execution), takes.answers);
  }
  for (std::size_t i = 0; i < takes.charges.size(); ++i) {
    takes.answers[i] = run(Take{.charges = takes.charges.subspan(i, 1)}, execution);
  }
  return {};
}

Result<void> Store::run(const core::ShiftUsage& shifts, Execution& execution) {
  CHECK(shifts.answers.size() == shifts.shifts.size());
  const auto is_valid = [&](const Shift& shift) { return validate(shifts, shift).has_value(); };
  if (std::all_of(shifts.shifts.begin(), shifts.shifts.end(), is_valid)) {
    return tell_all(perform_checked(shifts, execution), shifts.answers);
  }
  for (std::size_t i = 0; i < shifts.shifts.size(); ++i) {
    if (auto ok = validate(shifts, shifts.shifts[i]); !ok) {
      shifts.answers[i] = std::move(ok).error();
    } else {
      std::ignore = run(shifts.part(i, 1), execution);
    }
  }
  return {};
}

Result<void> Store::run(const core::KeysEach& keys, Execution& execution) {
  CHECK(keys.answers.size() == keys.steps.size());
  const auto is_valid = [](const core::KeyStep& step) {
    return std::visit([](const auto& each) { return core::validate(each).has_value(); }, step);
  };
  if (std::all_of(keys.steps.begin(), keys.steps.end(), is_valid)) {
    return tell_all(perform_checked(keys, execution), keys.answers);
  }
  keys.answer_by([&](const auto& step) { return run(step, execution); });
  return {};
}

std::string Store::new_hold_id(std::span<const Charge> /*charges*/) const { return base::random_id(); }

Result<void> check_scope(const Store& store, const Limit& limit) {
  if (limit.scope() != Scope::kEscrow || store.draws_shares()) return {};
  return base::invalid("scope: escrow needs shared and node in [escrow] of mete.toml: use node or shared");
}

}  // namespace mete::store
