// Audits: books that balance, and the ways in which lost records make them not.
#include <gmock/gmock.h>

#include "engine/records/snapshot_walk.h"
#include "unit/engine/engine_fixture.h"

namespace mete::engine::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Problem = AuditProblem::Kind;

// Keeps every record, as a journal does.
class Records final : public ChangeSink {
 public:
  core::Ticket append(std::string_view record, Durable /*durable*/) override {
    list.emplace_back(record);
    return 0;
  }
  [[nodiscard]] core::Ticket last_awaited() const override { return 0; }

  std::vector<std::string> list;
};

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    live.engine.record_to(records);
    live.engine.define(stock("gpu").amount(10), live.now).value();
    live.engine.define(window("sms").amount(5).per(1h), live.now).value();
  }

  // An engine that was restored from all records but some.
  static void restore(Engine& engine, const std::vector<std::string>& list, std::vector<std::size_t> without = {}) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (std::find(without.begin(), without.end(), i) != without.end()) continue;
      engine.restore(list[i]).value();
    }
    engine.finish_restoring(kStart);
  }
  // A record of those changes of record `at` that are of the given kind: as if the rest had been in another one.
  class Sieve;
  void hold(std::string_view id, std::vector<Charge> charges, std::string_view tag = {}) {
    ASSERT_TRUE(live.engine.hold({.charges = charges, .ttl = 1h, .id = id, .tag = tag}, live.now).value().is_allowed);
  }
  static std::vector<Problem> kinds(const Audit& audit) {
    std::vector<Problem> found;
    for (const AuditProblem& problem : audit.problems) found.push_back(problem.kind);
    return found;
  }
  // Mends all there is, and says whether that was enough.
  static bool mend(Engine& engine) {
    for (const AuditProblem& problem : engine.audit(kStart).problems) EXPECT_NE(engine.mend(problem), "");
    return engine.audit(kStart).problems.empty();
  }

  Records records;
  Subject live;
};

// Writes the meters or the operations of a record again, and leaves out the others.
class AuditTest::Sieve final : public ChangeVisitor {
 public:
  enum class Keep : std::uint8_t { kMeters, kOperations };
  Sieve(std::string_view record, Keep keep) : keep_(keep) { read_changes(record, *this).value(); }

  [[nodiscard]] std::string record() const { return std::string(encoder_.view()); }

 private:
  Result<void> visit(MeterChange& change) override {
    if (keep_ == Keep::kMeters) write_change(encoder_, change);
    return {};
  }
  Result<void> visit(OperationChange& change) override {
    if (keep_ != Keep::kOperations) return {};
    change.record.hold = change.hold ? &*change.hold : nullptr;
    write_operation(encoder_, change.id, change.record);
    return {};
  }
  Result<void> visit(OverrideChange& /*change*/) override { return {}; }
  Result<void> visit(KeyChange& /*change*/) override { return {}; }
  Result<void> visit(LimitChange& /*change*/) override { return {}; }
  Result<void> visit(DropChange& /*change*/) override { return {}; }
  Result<void> visit(ClearChange& /*change*/) override { return {}; }
  Result<void> visit(NumbersChange& /*change*/) override { return {}; }

  const Keep keep_;
  Encoder encoder_;
};

TEST_F(AuditTest, CountsEverything) {
  live.take("gpu", "a", 3);
  live.take("sms", "a");
  live.try_take("sms", "b", 1, "take-1").value();
  hold("job", {{"gpu", "a", 2}, {"sms", "b", 1}}, "tag");
  live.engine.set_override({"gpu", "b", 0}, 7, live.now).value();
  live.engine.keys().add("counter", 1, live.now).value();
  live.engine.keys().quota_set("quota", {.amount = 5, .window = 1min}, live.now).value();
  const Audit audit = live.engine.audit(live.now);
  EXPECT_THAT(audit.problems, IsEmpty());
  ASSERT_EQ(audit.limits.size(), 2U);
  const LimitTally& gpu = audit.limits[0];
  EXPECT_EQ(gpu.limit.name(), "gpu");
  EXPECT_EQ(gpu.meters, 1U);
  EXPECT_EQ(gpu.used, 3);
  EXPECT_EQ(gpu.held, 2);
  EXPECT_EQ(gpu.overrides, 1U);
  EXPECT_EQ(audit.limits[1].used, 2);
  EXPECT_EQ(audit.counters, 1U);
  EXPECT_EQ(audit.quotas, 1U);
  EXPECT_EQ(audit.throttles, 0U);
  EXPECT_EQ(audit.open_holds, 1U);
  EXPECT_EQ(audit.ids, 2U);
}

TEST_F(AuditTest, BooksBalanceAfterEverythingThatMayHappen) {
  hold("kept", {{"gpu", "a", 2}, {"gpu", "a", 1}, {"sms", "a", 1}}, "tag");
  hold("committed", {{"gpu", "a", 2}});
  hold("expired", {{"gpu", "b", 4}}, "tag");
  live.engine.commit({.id = "committed"}, live.now).value();
  live.engine.extend("kept", 3h, live.now).value();
  live.engine.define(stock("gpu").amount(1), live.now).value();  // less than is in use
  live.engine.define(sliding("sms").amount(5).per(2h), live.now).value();
  live.now = live.now + 2h;
  live.usage("gpu", "b");
  hold("late", {{"sms", "a", 1}});
  live.engine.drop("sms");
  Subject restored;
  restore(restored.engine, records.list);
  for (Engine* engine : {&live.engine, &restored.engine}) {
    const Audit audit = engine->audit(live.now);
    EXPECT_THAT(audit.problems, IsEmpty());
    EXPECT_EQ(audit.open_holds, 2U);
    EXPECT_EQ(audit.limits[0].above_capacity, 1U);
  }
}

TEST_F(AuditTest, FindsAndForgetsAHoldWithoutItsPart) {
  hold("whole", {{"gpu", "a", 1}});
  hold("broken", {{"gpu", "a", 2}, {"sms", "a", 1}}, "tag");
  records.list.back() = Sieve(records.list.back(), Sieve::Keep::kOperations).record();
  Subject restored;
  restore(restored.engine, records.list);
  const Audit audit = restored.engine.audit(kStart);
  ASSERT_THAT(kinds(audit), ElementsAre(Problem::kHoldWithoutPart));
  EXPECT_THAT(audit.problems[0].text, HasSubstr("hold 'broken' has 2 of meter 'a' of 'gpu'"));
  EXPECT_TRUE(mend(restored.engine));
  EXPECT_FALSE(restored.engine.find_hold("broken", kStart).has_value());
  EXPECT_THAT(restored.engine.holds_tagged("tag", kStart), IsEmpty());
  EXPECT_TRUE(restored.engine.cancel("whole", kStart).has_value());
  EXPECT_EQ(restored.statistics().open_holds, 0U);
}

TEST_F(AuditTest, WhatAForgottenHoldHasElsewhereStaysUsed) {
  hold("broken", {{"gpu", "a", 2}, {"sms", "a", 1}});
  records.list.push_back([] {  // the meter of "sms" is gone
    Encoder record;
    write_change(record, MeterChange{.generation = 2, .key = "a", .state = {}});
    return std::string(record.view());
  }());
  Subject restored;
  restore(restored.engine, records.list);
  EXPECT_THAT(kinds(restored.engine.audit(kStart)), ElementsAre(Problem::kHoldWithoutPart));
  EXPECT_TRUE(mend(restored.engine));
  EXPECT_EQ(restored.usage("gpu", "a").used, 2);
  EXPECT_EQ(restored.usage("gpu", "a").held, 0);
}

TEST_F(AuditTest, FindsAndReleasesAPartWithoutItsHold) {
  live.take("gpu", "a", 3);
  hold("broken", {{"gpu", "a", 2}});
  records.list.back() = Sieve(records.list.back(), Sieve::Keep::kMeters).record();
  Subject restored;
  restore(restored.engine, records.list);
  const Audit audit = restored.engine.audit(kStart);
  ASSERT_THAT(kinds(audit), ElementsAre(Problem::kPartWithoutHold));
  EXPECT_THAT(audit.problems[0].text, HasSubstr("there is no such open hold"));
  EXPECT_TRUE(mend(restored.engine));
  EXPECT_EQ(restored.usage("gpu", "a").used, 5);
  EXPECT_EQ(restored.usage("gpu", "a").held, 0);
}

TEST_F(AuditTest, FindsAPartThatALostExtensionLeftBehind) {
  hold("job", {{"gpu", "a", 2}});
  live.engine.extend("job", 2h, live.now).value();
  const std::size_t lost = records.list.size() - 1;
  live.engine.extend("job", 3h, live.now).value();
  Subject restored;
  restore(restored.engine, records.list, {lost});
  const Audit audit = restored.engine.audit(kStart);
  EXPECT_THAT(kinds(audit), ::testing::Contains(Problem::kPartWithoutHold));
  EXPECT_TRUE(mend(restored.engine));
  EXPECT_EQ(restored.usage("gpu", "a").held, 2);
  EXPECT_TRUE(restored.engine.commit({.id = "job"}, kStart).has_value());
}

TEST_F(AuditTest, FindsMoreHeldThanUsed) {
  hold("job", {{"gpu", "a", 4}});
  Encoder record;
  const std::int64_t used = 1;
  write_change(record,
               MeterChange{.generation = 1, .key = "a", .state = {reinterpret_cast<const char*>(&used), sizeof used}});
  records.list.emplace_back(record.view());
  Subject restored;
  restore(restored.engine, records.list);
  const Audit audit = restored.engine.audit(kStart);
  ASSERT_THAT(kinds(audit), ElementsAre(Problem::kHeldAboveUsed));
  EXPECT_THAT(audit.problems[0].text, HasSubstr("has 4 held, but only 1 in use"));
  EXPECT_TRUE(mend(restored.engine));
  EXPECT_EQ(restored.usage("gpu", "a").held, 4);
}

TEST_F(AuditTest, WhatHasExpiredCountsForNothing) {
  hold("job", {{"gpu", "a", 4}}, "tag");
  records.list.back() = Sieve(records.list.back(), Sieve::Keep::kOperations).record();
  Subject restored;
  restore(restored.engine, records.list);
  EXPECT_EQ(restored.engine.audit(kStart + 59min).problems.size(), 1U);
  EXPECT_THAT(restored.engine.audit(kStart + 1h).problems, IsEmpty());
  EXPECT_EQ(restored.engine.audit(kStart + 1h).open_holds, 0U);
}

}  // namespace
}  // namespace mete::engine::testing
