#include "store/fail_open.h"

#include <algorithm>
#include <mutex>

#include "base/monotonic.h"

namespace mete::store {

namespace {

std::optional<Amount> open_capacity_of(const Limit& limit) {
  if (limit.on_fail() != OnFail::kOpen) return std::nullopt;
  return limit.burst().value_or(limit.amount());
}

}  // namespace

void FailOpen::execute(const Operation& operation, Execution& execution) {
  pass_on(*store_, operation, execution);
  operation.visit([this](const auto& what, auto& answer) { follow(what, answer); });
}

void FailOpen::follow(const Take& take, Result<core::Verdict>& answer) {
  if (answer.has_value()) {
    if (!find_) look_for_due(take.charges, base::monotonic_now());
  } else if (answer.error().code == ErrorCode::kNoLimit) {
    for (const Charge& charge : take.charges) forget(charge.limit);
  } else if (take.mode != Mode::kPeek) {
    answer = admit(take, answer.error());
  }
}

void FailOpen::follow(const core::TakeEach& takes, Result<void>& done) {
  if (!done) std::fill(takes.answers.begin(), takes.answers.end(), Result<core::Verdict>(done.error()));
  done = {};
  const Instant now = base::monotonic_now();
  std::size_t looks = find_ ? kLooksMax : 0;
  std::string_view known;  // takes that arrive together are mostly of one limit
  for (std::size_t i = 0; i < takes.charges.size(); ++i) {
    const auto charge = takes.charges.subspan(i, 1);
    if (!takes.answers[i].has_value()) {
      follow(Take{.charges = charge}, takes.answers[i]);
    } else if (looks < kLooksMax && charge[0].limit != known) {
      known = charge[0].limit;
      looks += look_for_due(charge, now);
    }
  }
}

void FailOpen::follow(const core::Recall& recall, Result<std::optional<core::Verdict>>& earlier) {
  const bool is_away = !earlier.has_value() && earlier.error().code == ErrorCode::kUnavailable;
  const auto is_open = [this](const Charge& charge) { return open_capacity(charge.limit).has_value(); };
  if (is_away && std::ranges::all_of(recall.take.charges, is_open)) earlier = std::nullopt;
}

void FailOpen::follow(const core::Define& define, Result<void>& done) {
  if (done) {
    learn(define.limit);
  } else {
    forget(define.limit.name());  // it may have happened or not
  }
}

void FailOpen::follow(const core::Drop& drop, Result<bool>& /*was_there*/) { forget(drop.name); }

void FailOpen::follow(const core::FindLimit& find, Result<std::optional<Limit>>& found) {
  if (!found.has_value()) return;
  if (found->has_value()) {
    learn(**found);
  } else {
    forget(find.name);
  }
}

void FailOpen::follow(const core::ReadStatistics& /*read*/, Result<StoreStatistics>& statistics) {
  if (statistics.has_value()) statistics->unrecorded_admissions += admissions();
}

Result<core::Verdict> FailOpen::admit(const Take& take, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return error;
  core::Verdict verdict{.is_allowed = true, .is_unrecorded = true, .remaining = kAmountMax, .limit = kAmountMax};
  for (std::size_t i = 0; i < take.charges.size(); ++i) {
    const auto capacity = open_capacity(take.charges[i].limit);
    if (!capacity) return error;
    verdict.taken += take.charges[i].cost;
    verdict.limit = verdict.remaining = std::min(verdict.limit, *capacity);
    if (!take.usages.empty()) take.usages[i] = {.remaining = *capacity, .limit = *capacity, .reset_after = {}};
  }
  admissions_.fetch_add(1, std::memory_order_relaxed);
  return verdict;
}

std::size_t FailOpen::look_for_due(std::span<const Charge> charges, Instant now) {
  std::size_t looks = 0;
  for (const Charge& charge : charges) {
    if (!is_due(charge.limit, now)) continue;
    const core::FindLimit find{charge.limit};
    auto found = store_->run(find);
    follow(find, found);
    ++looks;
  }
  return looks;
}

bool FailOpen::is_due(std::string_view name, Instant now) {
  {
    const std::shared_lock lock(mutex_);
    const auto known = limits_.find(name);
    if (known != limits_.end() && now < known->second.due_at) return false;
  }
  const std::unique_lock lock(mutex_);
  Known& known = limits_.try_emplace(std::string(name)).first->second;
  const bool is_due = now >= known.due_at;
  if (is_due) known.due_at = now + kFreshFor;
  return is_due;
}

std::optional<Amount> FailOpen::open_capacity(std::string_view name) const {
  if (find_) {
    const auto limit = find_(name);
    return limit ? open_capacity_of(*limit) : std::nullopt;
  }
  const std::shared_lock lock(mutex_);
  const auto known = limits_.find(name);
  return known == limits_.end() ? std::nullopt : known->second.capacity;
}

void FailOpen::learn(const Limit& limit) {
  if (find_) return;
  const std::unique_lock lock(mutex_);
  limits_[limit.name()] = {.capacity = open_capacity_of(limit), .due_at = base::monotonic_now() + kFreshFor};
}

void FailOpen::forget(std::string_view name) {
  const std::unique_lock lock(mutex_);
  if (const auto known = limits_.find(name); known != limits_.end()) limits_.erase(known);
}

}  // namespace mete::store
