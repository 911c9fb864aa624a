// RuleTable: interned rules. Limits, and keys with an amount of their own, that have equal numbers share one record.
//
// Ownership: a record lives while somebody refers to it: acquire() and release() in pairs. Thread safety: every call
// from any thread; a record is read without a lock.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "calendar/calendar.h"
#include "core/meter.h"
#include "engine/table/memory_gauge.h"

namespace mete::engine {

class RuleRecord {
 public:
  RuleRecord(const core::Rule& rule, std::optional<civil::Calendar> calendar)
      : rule_(rule), calendar_(std::move(calendar)) {}

  [[nodiscard]] const core::Rule& rule() const { return rule_; }
  [[nodiscard]] const std::optional<civil::Calendar>& calendar() const { return calendar_; }

  // The moment at which a meter in this state is looked at.
  [[nodiscard]] core::Moment moment(const core::State& state, Instant now) const {
    const Instant at = core::not_before(rule_, state, now);
    if (rule_.kind == Kind::kCalendar) return {at, calendar_span(at)};
    if (rule_.kind == Kind::kWindow) return {at, core::fixed_window(rule_.period, at)};
    return {at, {}};
  }

 private:
  // Calendar periods are whole seconds and at most 388 days long, so the latest one is kept in one word, which can
  // be read and replaced without a lock: the start in the upper 39 bits, the length in the lower 25.
  static constexpr int kLengthBits = 25;
  [[nodiscard]] core::Span calendar_span(Instant at) const;

  const core::Rule rule_;
  const std::optional<civil::Calendar> calendar_;
  mutable std::atomic<std::uint64_t> latest_span_{0};
};

class RuleTable {
 public:
  explicit RuleTable(MemoryGauge& memory) : memory_(memory) {}

  // The record for a limit's numbers. Refuses a calendar whose zone or anchor does not exist.
  Result<const RuleRecord*> acquire(const Limit& limit);
  // The record for a rule without a calendar.
  const RuleRecord* acquire(const core::Rule& rule);
  // The record for the same rule with another amount; a bucket's burst keeps its ratio to it, rounded up.
  const RuleRecord* acquire_with_amount(const RuleRecord& rule, Amount amount);
  void release(const RuleRecord* record);

  [[nodiscard]] std::size_t size() const;

 private:
  // Everything that a rule's answers depend on.
  using Key = std::tuple<Kind, Amount, Amount, std::int64_t, Unit, std::string, int>;
  struct Interned {
    std::unique_ptr<RuleRecord> record;
    std::size_t references = 0;
  };

  // What a rule takes, with its places in both maps. Counted, but never refused: whoever wants a new rule wants a new
  // entry or has one.
  static constexpr std::size_t kRuleBytes =
      sizeof(RuleRecord) + sizeof(Key) + sizeof(Interned) + 3 * sizeof(void*) + 2 * kTreeNodeBytes;

  static Key key_of(const Limit& limit);
  const RuleRecord* intern(const Key& key, const std::optional<civil::Calendar>& calendar);

  MemoryGauge& memory_;
  mutable std::mutex mutex_;
  std::map<Key, Interned> rules_;
  std::map<const RuleRecord*, std::map<Key, Interned>::iterator> by_record_;
};

}  // namespace mete::engine
