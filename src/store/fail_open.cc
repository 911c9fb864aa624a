#include "store/fail_open.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/monotonic.h"
#include "base/try.h"

namespace mete::store {

namespace {

std::optional<Limit> if_not_closed(const std::optional<Limit>& limit) {
  return limit && limit->on_fail() != OnFail::kClosed ? limit : std::nullopt;
}

}  // namespace

FailOpen::FailOpen(std::unique_ptr<Store> store, Settings settings)
    : store_(std::move(store)),
      find_(std::move(settings.find)),
      local_(*store_, settings.local_share_percent, settings.log) {}

void FailOpen::execute(const Operation& operation, Execution& execution) {
  pass_on(*store_, operation, execution);
  operation.visit([this](const auto& what, auto& answer) { follow(what, answer); });
}

void FailOpen::follow(const Take& take, Result<core::Verdict>& answer) {
  if (answer.has_value()) {
    if (!find_) look_for_due(take.charges, base::monotonic_now());
  } else if (answer.error().code == ErrorCode::kNoLimit) {
    for (const Charge& charge : take.charges) forget(charge.limit);
  } else if (take.mode != Mode::kPeek && answer.error().code == ErrorCode::kUnavailable) {
    look_for_unknown(take.charges);
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
  const auto is_soft = [this](const Charge& charge) { return failing_softly(charge.limit).has_value(); };
  if (is_away && std::ranges::all_of(recall.take.charges, is_soft)) earlier = std::nullopt;
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
  if (statistics.has_value()) add_to(*statistics);
}

void FailOpen::add_to(StoreStatistics& statistics) const {
  const LocalShares::Counts counts = local_.counts();
  statistics.unrecorded_admissions += admissions();
  statistics.local_admissions = counts.admitted;
  statistics.local_denials = counts.denied;
  statistics.local_lost = counts.lost;
  statistics.unsettled_meters = counts.unsettled_meters;
}

Result<core::Verdict> FailOpen::admit(const Take& take, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return error;
  core::Verdict verdict{.is_allowed = true, .is_unrecorded = true, .remaining = kAmountMax, .limit = kAmountMax};
  LocalPart local;
  for (std::size_t i = 0; i < take.charges.size(); ++i) {
    auto limit = failing_softly(take.charges[i].limit);
    if (!limit) return error;
    if (limit->on_fail() == OnFail::kLocal) {
      local.limits.push_back(std::move(*limit));
      local.charges.push_back(take.charges[i]);
      local.places.push_back(i);
      continue;
    }
    const Amount capacity = limit->burst().value_or(limit->amount());
    verdict.taken += take.charges[i].cost;
    verdict.limit = verdict.remaining = std::min(verdict.limit, capacity);
    if (!take.usages.empty()) take.usages[i] = {.remaining = capacity, .limit = capacity, .reset_after = {}};
  }
  if (!local.charges.empty()) return decide_locally(take, local);
  admissions_.fetch_add(1, std::memory_order_relaxed);
  return verdict;
}

// The open ones among several charges would be admitted in any case: the local ones decide for all.
Result<core::Verdict> FailOpen::decide_locally(const Take& take, const LocalPart& part) {
  const bool is_all = part.charges.size() == take.charges.size();
  Take local = take;
  local.charges = part.charges;
  if (!is_all) local.usages = {};
  auto verdict = TRY(local_.take(local, part.limits));
  if (verdict.is_allowed) admissions_.fetch_add(1, std::memory_order_relaxed);
  const core::Verdict of_part = verdict;
  verdict.violated = 0;
  for (std::size_t i = 0; i < part.places.size(); ++i) {
    if (of_part.is_violated_by(i))
      verdict.violated = static_cast<std::uint16_t>(verdict.violated | 1U << part.places[i]);
  }
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

// Not always all of the store is away: a row may be locked, or one of several servers be down. Otherwise this fails at
// once, since whoever has just waited for the store has opened its breaker.
void FailOpen::look_for_unknown(std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    const bool is_known = [&] {
      const std::shared_lock lock(mutex_);
      return find_ || limits_.contains(charge.limit);
    }();
    if (is_known) continue;
    const core::FindLimit find{charge.limit};
    auto found = store_->run(find);
    follow(find, found);
  }
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

std::optional<Limit> FailOpen::known_limit(std::string_view name) const {
  if (auto known = store_->known_limit(name)) return known;
  return found_limit(name);
}

std::optional<Limit> FailOpen::found_limit(std::string_view name) const {
  if (find_) return find_(name);
  const std::shared_lock lock(mutex_);
  const auto known = limits_.find(name);
  return known == limits_.end() ? std::nullopt : known->second.limit;
}

std::optional<Limit> FailOpen::failing_softly(std::string_view name) const { return if_not_closed(found_limit(name)); }

void FailOpen::learn(const Limit& limit) {
  if (find_) return;
  const std::unique_lock lock(mutex_);
  limits_[limit.name()] = {.limit = limit, .due_at = base::monotonic_now() + kFreshFor};
}

void FailOpen::forget(std::string_view name) {
  const std::unique_lock lock(mutex_);
  if (const auto known = limits_.find(name); known != limits_.end()) limits_.erase(known);
}

}  // namespace mete::store
