#include "sync/run.h"

#include <gtest/gtest.h>

#include "store/embedded/embedded_store.h"
#include "unit/sync/fake_source.h"

namespace mete::sync {
namespace {

using namespace std::chrono_literals;
using testing::FakeSource;

constexpr Instant kFullHour = Instant::from_unix_seconds(1'699'999'200);  // a full hour, 22:00 UTC

class RunTest : public ::testing::Test {
 protected:
  RunTest() { store_.define(stock("storage").amount(1000)).value(); }

  void take(std::string_view key, Amount amount, std::string_view limit = "storage") {
    const Charge charge{limit, key, amount};
    store_.take({.charges = {&charge, 1}, .mode = Mode::kForce}).value();
  }
  void give(std::string_view key, Amount amount) {
    const Charge charge{"storage", key, amount};
    store_.give({&charge, 1}, "").value();
  }
  void hold(std::string_view key, Amount amount, std::string_view id) {
    const Charge charge{"storage", key, amount};
    store_.hold({.charges = {&charge, 1}, .ttl = 1h, .id = id}).value();
  }
  void commit(std::string_view id) { store_.commit({.id = id}).value(); }
  Usage usage(std::string_view key, std::string_view limit = "storage") { return store_.usage({limit, key}).value(); }
  Amount used(std::string_view key) { return usage(key).used; }
  Report run(const RunOptions& options = {}) { return run_sync(plan_, options, store_, source_); }
  void expect_done(const Report& report) { EXPECT_EQ(report.outcome, Outcome::kDone) << report.message; }

  ManualClock clock_{kFullHour};
  store::EmbeddedStore store_{Options{.clock = &clock_}};
  Plan plan_{.limit = "storage", .source = "postgres://h/d", .query = "select 1, 2"};
  FakeSource source_;
};

TEST_F(RunTest, BringsEachKeyToTheTruth) {
  take("more", 100);
  take("less", 300);
  take("same", 50);
  source_.rows = {{"more", "150"}, {"less", "120"}, {"same", "50"}, {"new", "7"}, {"nothing", "0"}};
  const Report report = run();
  expect_done(report);
  EXPECT_EQ(used("more"), 150);
  EXPECT_EQ(used("less"), 120);
  EXPECT_EQ(used("same"), 50);
  EXPECT_EQ(used("new"), 7);
  EXPECT_EQ(report.keys, 5U);
  EXPECT_EQ(report.missing_keys, 0U);
  EXPECT_EQ(report.differing_keys, 3U);
  EXPECT_EQ(report.changed_keys, 3U);
  EXPECT_EQ(report.used, 450);
  EXPECT_EQ(report.drift, 50 + 180 + 7);
  EXPECT_EQ(report.largest, (std::vector<Difference>{{"less", 300, 120}, {"more", 100, 150}, {"new", 0, 7}}));
  EXPECT_EQ(run().differing_keys, 0U) << "a second run finds nothing";
}

// S5: limit 1000, stored 500, in flight 400. The seed's sync writes 500 and a reserve of 500 passes.
TEST_F(RunTest, S5_WhatIsHeldIsKept) {
  take("tenant", 450);
  hold("tenant", 400, "upload");
  source_.rows = {{"tenant", "500"}};
  expect_done(run());
  EXPECT_EQ(used("tenant"), 500);
  EXPECT_EQ(usage("tenant").held, 400);
  EXPECT_EQ(usage("tenant").remaining, 100);
}

// S6: whatever happens while the query runs.
TEST_F(RunTest, S6_WhatHappensWhileTheQueryRunsIsNotLost) {
  take("tenant", 480);
  hold("tenant", 100, "upload");
  source_.rows = {{"tenant", "500"}, {"other", "10"}};
  source_.on_read = [this] {
    take("tenant", 30);
    give("tenant", 5);
    commit("upload");
    take("other", 4);
    take("third", 3);
  };
  expect_done(run());
  EXPECT_EQ(used("tenant"), 500 + 30 - 5 + 100);
  EXPECT_EQ(usage("tenant").held, 0);
  EXPECT_EQ(used("other"), 14);
  EXPECT_EQ(used("third"), 3);
}

// Between the looks nobody knows on which side of the snapshot something was: it may count too much, and not too
// little.
TEST_F(RunTest, WhatHappensBetweenTheLooksIsNeverCountedTooLittle) {
  take("gives", 500);
  take("takes", 500);
  take("empties", 80);
  source_.rows = {{"gives", "400"}, {"takes", "600"}, {"empties", "0"}, {"begins", "9"}};
  source_.on_begin = [this] {  // just before the snapshot, which has it all
    give("gives", 100);
    take("takes", 100);
    give("empties", 80);
    take("begins", 9);
  };
  expect_done(run());
  EXPECT_EQ(used("gives"), 400) << "not 300: the give is in both";
  EXPECT_EQ(used("empties"), 0);
  EXPECT_GE(used("takes"), 600);
  EXPECT_GE(used("begins"), 9);
  source_.on_begin = [] {};
  expect_done(run());
  EXPECT_EQ(used("takes"), 600) << "the next run sets it right";
  EXPECT_EQ(used("begins"), 9);
}

TEST_F(RunTest, KeysThatAreMissingBecomeZeroOnlyIfThePlanSaysSo) {
  take("gone", 70);
  take("there", 10);
  hold("gone", 20, "upload");
  source_.rows = {{"there", "10"}};
  const Report kept = run();
  expect_done(kept);
  EXPECT_EQ(kept.missing_keys, 1U);
  EXPECT_EQ(kept.differing_keys, 0U);
  EXPECT_EQ(used("gone"), 70);
  plan_.missing = Missing::kZero;
  const Report zeroed = run();
  expect_done(zeroed);
  EXPECT_EQ(zeroed.drift, 70);
  EXPECT_EQ(used("gone"), 0);
  EXPECT_EQ(usage("gone").held, 20);
}

TEST_F(RunTest, AnEmptyResultEmptiesNothingUnlessForced) {
  take("a", 70);
  expect_done(run());
  plan_.missing = Missing::kZero;
  const Report report = run();
  EXPECT_EQ(report.outcome, Outcome::kRefused);
  EXPECT_NE(report.message.find("no rows"), std::string::npos) << report.message;
  EXPECT_EQ(used("a"), 70);
  expect_done(run({.is_forced = true}));
  EXPECT_EQ(used("a"), 0);
}

TEST_F(RunTest, TooLargeAChangeIsRefusedUnlessForced) {
  take("a", 100);
  plan_.max_change = MaxChange::parse("20%").value();
  source_.rows = {{"a", "121"}};
  const Report report = run();
  EXPECT_EQ(report.outcome, Outcome::kRefused);
  EXPECT_NE(report.message.find("21 units, of 100 in use"), std::string::npos) << report.message;
  EXPECT_NE(report.message.find("20%"), std::string::npos) << report.message;
  EXPECT_EQ(report.changed_keys, 0U);
  EXPECT_EQ(used("a"), 100);
  expect_done(run({.is_forced = true}));
  EXPECT_EQ(used("a"), 121);
  source_.rows = {{"a", "145"}};  // 24 of 121 are less than 20 %
  expect_done(run());
  EXPECT_EQ(used("a"), 145);
}

TEST_F(RunTest, ADryRunTellsAndChangesNothing) {
  take("a", 100);
  take("b", 5);
  source_.rows = {{"a", "90"}, {"b", "25"}};
  source_.confirmed = Error{ErrorCode::kUnavailable, "nobody asks"};
  const Report report = run({.is_dry_run = true});
  expect_done(report);
  EXPECT_EQ(report.largest, (std::vector<Difference>{{"b", 5, 25}, {"a", 100, 90}}));
  EXPECT_EQ(report.changed_keys, 0U);
  EXPECT_EQ(used("a"), 100);
  EXPECT_EQ(used("b"), 5);
}

TEST_F(RunTest, ADryRunTellsAlsoWhatWouldBeRefused) {
  take("a", 100);
  plan_.max_change = MaxChange::parse("5").value();
  source_.rows = {{"a", "90"}};
  const Report report = run({.is_dry_run = true});
  EXPECT_EQ(report.outcome, Outcome::kRefused);
  EXPECT_EQ(report.largest.size(), 1U);
}

TEST_F(RunTest, OnlyTheLargestDifferencesAreListed) {
  for (std::size_t i = 1; i <= kDifferencesMax + 30; ++i) {
    source_.rows.push_back({"key" + std::to_string(i), std::to_string(i)});
  }
  const Report report = run({.is_dry_run = true});
  EXPECT_EQ(report.differing_keys, kDifferencesMax + 30);
  ASSERT_EQ(report.largest.size(), kDifferencesMax);
  for (std::size_t i = 0; i < kDifferencesMax; ++i) {
    EXPECT_EQ(report.largest[i].truth, static_cast<Amount>(kDifferencesMax + 30 - i));
  }
}

TEST_F(RunTest, BadRowsAreRefusedAndNothingIsChanged) {
  const struct {
    std::vector<FakeSource::Cell> row;
    std::string_view reason;
  } rows[] = {
      {{"b"}, "it has 1 column, and needs two"},
      {{"b", "1", "x"}, "it has 3 columns, and needs two"},
      {{}, "it has 0 columns"},
      {{std::nullopt, "1"}, "its key is null"},
      {{"", "1"}, "key"},
      {{std::string(kKeyBytesMax + 1, 'k'), "1"}, "key"},
      {{"b", std::nullopt}, "the amount of key \"b\" is null: write coalesce"},
      {{"b", "-1"}, "is negative"},
      {{"b", "1.5"}, "is not a whole number"},
      {{"b", "12.00"}, "::bigint"},
      {{"b", "1e3"}, "is not a whole number"},
      {{"b", "NaN"}, "is not a whole number"},
      {{"b", ""}, "is not a whole number"},
      {{"b", "9007199254740992"}, "is more than 9007199254740991"},
      {{"b", "99999999999999999999999"}, "is more than 9007199254740991"},
      {{"a", "2"}, "key \"a\" came before"},
  };
  take("a", 100);
  for (const auto& row : rows) {
    source_.rows = {{"a", "1"}, row.row};
    const Report report = run();
    EXPECT_EQ(report.outcome, Outcome::kFailed);
    EXPECT_TRUE(report.message.starts_with("the query's row 2: ")) << report.message;
    EXPECT_NE(report.message.find(row.reason), std::string::npos) << report.message;
    EXPECT_EQ(used("a"), 100);
    EXPECT_EQ(used("b"), 0);
  }
}

TEST_F(RunTest, WhatFailsOnTheWayChangesNothing) {
  const Error down{ErrorCode::kUnavailable, "it is down"};
  const struct {
    std::function<void()> set;
    Outcome outcome;
    std::string_view reason;
  } rows[] = {
      {[&] { source_.locked = down; }, Outcome::kFailed, "it is down"},
      {[&] { source_.locked = false; }, Outcome::kBusy, "is being synced elsewhere"},
      {[&] { source_.begun = down; }, Outcome::kFailed, "it is down"},
      {[&] { source_.ended = down; }, Outcome::kFailed, "it is down"},
      {[&] { source_.confirmed = down; }, Outcome::kFailed, "it is down"},
      {[&] { source_.on_confirm = [this] { store_.define(stock("storage").amount(5)).value(); }; }, Outcome::kFailed,
       "was changed meanwhile"},
      {[&] { plan_.limit = "unknown"; }, Outcome::kFailed, "unknown"},
      {[&] {
         store_.define(bucket("api").amount(5).per(1s)).value();
         plan_.limit = "api";
       },
       Outcome::kFailed, "is a bucket"},
  };
  take("a", 100);
  source_.rows = {{"a", "1"}};
  const Plan plan = plan_;
  for (const auto& row : rows) {
    source_.locked = true;
    source_.begun = source_.ended = source_.confirmed = Result<void>();
    plan_ = plan;
    row.set();
    const Report report = run();
    EXPECT_EQ(report.outcome, row.outcome) << row.reason;
    EXPECT_NE(report.message.find(row.reason), std::string::npos) << report.message;
    EXPECT_EQ(used("a"), 100) << row.reason;
  }
}

TEST_F(RunTest, OfAWindowItIsLeftAloneOnceThePeriodHasPassed) {
  store_.define(window("calls").amount(1000).per(1h)).value();
  plan_.limit = "calls";
  take("a", 100, "calls");
  source_.rows = {{"a", "130"}};
  expect_done(run());
  EXPECT_EQ(usage("a", "calls").used, 130);
  source_.rows = {{"a", "150"}};
  source_.on_read = [this] { clock_.advance(1h); };
  const Report report = run();
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_NE(report.message.find("a new period began"), std::string::npos) << report.message;
  EXPECT_EQ(usage("a", "calls").used, 0);
}

TEST_F(RunTest, EndsWhenItIsToldTo) {
  take("a", 100);
  source_.rows = {{"a", "1"}};
  const Report report = run_sync(plan_, {}, store_, source_, {.on_progress = {}, .is_stopping = [] { return true; }});
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_EQ(report.message, "it was stopped");
  EXPECT_EQ(used("a"), 100);
}

TEST_F(RunTest, ManyKeysAreSyncedWithProgress) {
  constexpr int kKeys = 25'000;
  for (int i = 0; i < kKeys; ++i) {
    take("key" + std::to_string(i), 5);
    source_.rows.push_back({"key" + std::to_string(i), std::to_string(i % 2 == 0 ? 5 : 6)});
  }
  std::array<std::uint64_t, 3> most{};
  const RunHooks hooks{.on_progress = [&](const Progress& progress) {
    std::uint64_t& done = most[static_cast<std::size_t>(progress.stage)];
    done = std::max(done, progress.done);
  }};
  const Report report = run_sync(plan_, {}, store_, source_, hooks);
  expect_done(report);
  EXPECT_EQ(report.changed_keys, static_cast<std::uint64_t>(kKeys / 2));
  EXPECT_EQ(used("key24999"), 6);
  EXPECT_EQ(used("key24998"), 5);
  EXPECT_EQ(most, (std::array<std::uint64_t, 3>{kKeys, 20'000, 10'000}));
}

}  // namespace
}  // namespace mete::sync
