// LimitTable and RuleTable: limits are found by name and number, and equal rules are one record.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "engine/table/limit_table.h"
#include "engine/table/rule_table.h"

namespace mete::engine {
namespace {

using namespace std::chrono_literals;

std::string name_of(int number) { return "limit" + std::to_string(number); }

// Only four hashes for all: probing has to find them.
std::uint64_t hash_of(int number) { return static_cast<std::uint64_t>(number % 4); }

const LimitRecord* publish(LimitTable& table, int number, Amount amount = 1) {
  const LimitRecord* old = table.find(name_of(number), hash_of(number));
  auto record = std::make_unique<LimitRecord>(stock(name_of(number)).amount(amount), hash_of(number));
  record->generation = static_cast<std::uint64_t>(number) + 100;
  const LimitTable::Retired retired = table.publish(std::move(record), old);
  return table.find(name_of(number), hash_of(number));
}

TEST(LimitTable, FindsManyWithFewHashes) {
  LimitTable table;
  EXPECT_EQ(table.find("limit0", 0), nullptr);
  for (int i = 0; i < 300; ++i) publish(table, i);
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 300; ++i) {
    const LimitRecord* record = table.find(name_of(i), hash_of(i));
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(record->definition.name(), name_of(i));
    EXPECT_EQ(table.at(record->number), record);
    numbers.insert(record->number);
  }
  EXPECT_EQ(numbers.size(), 300U);
  EXPECT_EQ(table.all().size(), 300U);
  EXPECT_EQ(table.find("limit300", 0), nullptr);
}

TEST(LimitTable, AChangedLimitKeepsItsNumberAndGeneration) {
  LimitTable table;
  for (int i = 0; i < 10; ++i) publish(table, i);
  const LimitRecord* old = table.find(name_of(5), hash_of(5));
  const std::uint32_t number = old->number;
  const LimitRecord* changed = publish(table, 5, 77);
  EXPECT_EQ(changed->definition.amount(), 77);
  EXPECT_EQ(changed->number, number);
  EXPECT_EQ(changed->generation, 105U);
  EXPECT_EQ(table.all().size(), 10U);
}

TEST(LimitTable, RemovedLimitsAreGoneAndTheirNumbersServeAgain) {
  LimitTable table;
  for (int i = 0; i < 100; ++i) publish(table, i);
  std::set<std::uint32_t> freed;
  for (int i = 0; i < 100; i += 2) {
    const LimitRecord* record = table.find(name_of(i), hash_of(i));
    freed.insert(record->number);
    const std::uint32_t number = record->number;
    { const LimitTable::Retired retired = table.remove(record); }
    EXPECT_EQ(table.at(number), nullptr);
    table.reuse_number(number);
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(table.find(name_of(i), hash_of(i)) != nullptr, i % 2 == 1);
  for (int i = 200; i < 250; ++i) EXPECT_EQ(freed.erase(publish(table, i)->number), 1U) << "a number is used again";
}

TEST(RuleTable, EqualNumbersAreOneRecord) {
  MemoryGauge memory(0);
  RuleTable rules(memory);
  const RuleRecord* first = rules.acquire(bucket("a").amount(10).per(1min)).value();
  EXPECT_EQ(rules.acquire(bucket("b").amount(10).per(60s).burst(10)).value(), first);
  EXPECT_EQ(rules.acquire(bucket("c").amount(10).per(1min).shadow()).value(), first);
  EXPECT_EQ(rules.size(), 1U);
  const Limit others[] = {
      bucket("a").amount(11).per(1min),
      bucket("a").amount(10).per(2min),
      bucket("a").amount(10).per(1min).burst(20),
      window("a").amount(10).per(1min),
      sliding("a").amount(10).per(1min),
      stock("a").amount(10),
      calendar("a").amount(10).per(Unit::kDay),
      calendar("a").amount(10).per(Unit::kMonth),
      calendar("a").amount(10).per(Unit::kMonth).anchor(15),
      calendar("a").amount(10).per(Unit::kDay).zone("Asia/Tokyo"),
  };
  std::set<const RuleRecord*> records{first};
  for (const Limit& limit : others) records.insert(rules.acquire(limit).value());
  EXPECT_EQ(records.size(), std::size(others) + 1);
  EXPECT_EQ(rules.size(), std::size(others) + 1);
  EXPECT_TRUE(records.contains(rules.acquire(calendar("z").amount(10).per(Unit::kDay).zone("UTC")).value()));
}

TEST(RuleTable, ARecordLivesWhileItIsReferredTo) {
  MemoryGauge memory(0);
  RuleTable rules(memory);
  const Limit limit = calendar("a").amount(10).per(Unit::kDay).zone("Asia/Tokyo");
  const RuleRecord* rule = rules.acquire(limit).value();
  const RuleRecord* override_rule = rules.acquire_with_amount(*rule, 25);
  EXPECT_EQ(rules.acquire_with_amount(*rule, 25), override_rule);
  EXPECT_EQ(rules.acquire_with_amount(*rule, 10), rule) << "the limit's own amount";
  EXPECT_EQ(override_rule->rule().amount, 25);
  EXPECT_EQ(rules.size(), 2U);
  EXPECT_GT(memory.bytes(), 2 * sizeof(RuleRecord));
  rules.release(override_rule);
  EXPECT_EQ(rules.size(), 2U);
  rules.release(override_rule);
  EXPECT_EQ(rules.size(), 1U);
  rules.release(rule);
  EXPECT_EQ(rules.size(), 1U);
  rules.release(rule);
  EXPECT_EQ(rules.size(), 0U);
  EXPECT_EQ(memory.bytes(), 0U);
}

TEST(RuleTable, RefusesWhatTheCalendarDoesNotKnow) {
  MemoryGauge memory(0);
  RuleTable rules(memory);
  EXPECT_EQ(rules.acquire(calendar("a").amount(1).per(Unit::kDay).zone("No/Where")).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(rules.acquire(calendar("a").amount(1).per(Unit::kWeek).anchor(9)).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(rules.size(), 0U);
}

TEST(RuleRecord, AMomentHoldsItsWindow) {
  MemoryGauge memory(0);
  RuleTable rules(memory);
  const RuleRecord* day = rules.acquire(calendar("a").amount(1).per(Unit::kDay).zone("Asia/Tokyo")).value();
  const std::uint64_t noon = 1'801'364'400;  // 2027-01-31 12:00 in Tokyo
  for (const std::int64_t hours : {0, 30, -6, 11, 12, 13, -400, 9000}) {
    const Instant at = Instant::from_unix_seconds(noon) + Duration(std::chrono::hours(hours));
    const core::Moment moment = day->moment(core::State(), at);
    EXPECT_EQ(moment.now, at);
    EXPECT_TRUE(moment.window.start <= at && at < moment.window.end) << hours;
    EXPECT_EQ((moment.window.end - moment.window.start).ns(), Duration(24h).ns());
    EXPECT_EQ((moment.window.start.unix_seconds() + std::uint64_t{9} * 3600) % 86'400, 0U);
  }
  // A clock that is behind the state's window: time stands still there.
  const RuleRecord* fixed = rules.acquire(window("a").amount(1).per(1min)).value();
  core::State state;
  state.window = {Instant::from_unix_seconds(600), 1};
  EXPECT_EQ(fixed->moment(state, Instant::from_unix_seconds(100)).now, Instant::from_unix_seconds(600));
}

}  // namespace
}  // namespace mete::engine
