#include "engine/table/rule_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/try.h"

namespace mete::engine {

namespace {

// What stands for the fields that a limit does not have.
constexpr Unit kNoUnit = Unit::kHour;
constexpr std::string_view kNoZone = "UTC";

}  // namespace

core::Span RuleRecord::calendar_span(Instant at) const {
  constexpr std::uint64_t kLengthMask = (std::uint64_t{1} << kLengthBits) - 1;
  const std::uint64_t packed = latest_span_.load(std::memory_order_relaxed);
  const std::uint64_t start = packed >> kLengthBits;
  const core::Span latest{Instant::from_unix_seconds(start),
                          Instant::from_unix_seconds(start + (packed & kLengthMask))};
  if (latest.contains(at)) return latest;
  const core::Span span = calendar_->span_at(at);
  const std::uint64_t length = span.end.unix_seconds() - span.start.unix_seconds();
  CHECK(length <= kLengthMask);
  latest_span_.store(span.start.unix_seconds() << kLengthBits | length, std::memory_order_relaxed);
  return span;
}

RuleTable::Key RuleTable::key_of(const Limit& limit) {
  return {limit.kind(),
          limit.amount(),
          limit.burst().value_or(limit.amount()),
          limit.period().value_or(Duration()).ns(),
          limit.unit().value_or(kNoUnit),
          limit.zone().value_or(std::string(kNoZone)),
          limit.anchor().value_or(0)};
}

Result<const RuleRecord*> RuleTable::acquire(const Limit& limit) {
  const Key key = key_of(limit);
  if (limit.kind() != Kind::kCalendar) return intern(key, std::nullopt);
  const auto& [kind, amount, capacity, period_ns, unit, zone, anchor] = key;
  auto calendar = TRY(civil::Calendar::make({.unit = unit, .zone = zone, .anchor = anchor}));
  return intern(key, calendar);
}

const RuleRecord* RuleTable::acquire(const core::Rule& rule) {
  CHECK(rule.kind != Kind::kCalendar);
  return intern({rule.kind, rule.amount, rule.capacity, rule.period.ns(), kNoUnit, std::string(kNoZone), 0},
                std::nullopt);
}

const RuleRecord* RuleTable::acquire_with_amount(const RuleRecord& rule, Amount amount) {
  Key key;
  {
    const std::lock_guard guard(mutex_);
    key = by_record_.find(&rule)->second->first;
  }
  std::get<1>(key) = amount;
  std::get<2>(key) = core::with_amount(rule.rule(), amount).capacity;
  return intern(key, rule.calendar());
}

const RuleRecord* RuleTable::intern(const Key& key, const std::optional<civil::Calendar>& calendar) {
  const std::lock_guard guard(mutex_);
  auto found = rules_.find(key);
  if (found == rules_.end()) {
    const core::Rule rule{.kind = std::get<0>(key),
                          .amount = std::get<1>(key),
                          .capacity = std::get<2>(key),
                          .period = Duration::from_ns(std::get<3>(key))};
    found = rules_.emplace(key, Interned{std::make_unique<RuleRecord>(rule, calendar), 0}).first;
    by_record_.emplace(found->second.record.get(), found);
    memory_.add(kRuleBytes);
  }
  ++found->second.references;
  return found->second.record.get();
}

void RuleTable::release(const RuleRecord* record) {
  const std::lock_guard guard(mutex_);
  const auto found = by_record_.find(record);
  CHECK(found != by_record_.end());
  if (--found->second->second.references > 0) return;
  rules_.erase(found->second);
  by_record_.erase(found);
  memory_.subtract(kRuleBytes);
}

std::size_t RuleTable::size() const {
  const std::lock_guard guard(mutex_);
  return rules_.size();
}

}  // namespace mete::engine
