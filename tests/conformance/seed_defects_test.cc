// One regression test for each defect that was found in the five designs Mete replaces, named by its number.
//
// Not here, because the defect lies elsewhere:
//
//     S4, S9, M2    expiry and hash tags of Redis keys: tests of the Redis store
//     F13           trust in X-Forwarded-For: the HTTP server
//     Q6            replay after a restart: the journal
//     Q9..Q11, Q14   grants between nodes: tests/sim/cluster_test.cc, whose planted bugs they are
//     Q15, Q17       counters and the port of other nodes: unit/escrow, integration/cluster_bad_input_test.py
//     R6            cost of a reservation by history: bench/; unit/engine counts what a hold leaves behind
#include <atomic>
#include <functional>
#include <thread>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

// Runs `work` on many threads at once and waits for all.
void run_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

// ---- 001: token bucket

TEST_P(SeedDefects, F1_FractionsAreNotThrownAway) {
  const std::string fast = define(bucket(unique("fast")).amount(10).per(1s));
  take(fast, "a", 10);
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) {
    advance(99ms);
    admitted += take(fast, "a").allowed() ? 1 : 0;
  }
  EXPECT_EQ(admitted, 990) << "ten a second, for 99 seconds";

  const std::string slow = define(bucket(unique("slow")).amount(10).per(2s));
  admitted = take(slow, "a").allowed() ? 1 : 0;
  for (int i = 0; i < 80; ++i) {
    advance(150ms);
    admitted += take(slow, "a").allowed() ? 1 : 0;
  }
  EXPECT_EQ(admitted, 70) << "ten, and five a second for 12 seconds";
}

TEST_P(SeedDefects, F2_ALongPeriodIsNotCutToADay) {
  const std::string name = define(bucket(unique("monthly")).amount(1000).per(24h * 30));
  take(name, "a", 1000);
  advance(24h);
  EXPECT_FALSE(take(name, "a", 34).allowed());
  EXPECT_EQ(take_mode({name, "a", 1000}, Mode::kUpTo).taken, 33);
  advance(24h * 29);
  EXPECT_EQ(usage(name, "a").remaining, 967);
}

TEST_P(SeedDefects, F3_BandsAreChargedTogether) {
  const std::string second = define(bucket(unique("second")).amount(10).per(1s));
  const std::string minute = define(bucket(unique("minute")).amount(20).per(1min));
  take(minute, "a", 20);
  EXPECT_FALSE(limiter().take({{second, "a", 1}, {minute, "a", 1}}).value().allowed());
  EXPECT_EQ(usage(second, "a").used, 0);
}

TEST_P(SeedDefects, F4_BandsDoNotShareACounter) {
  const std::string second = define(bucket(unique("second")).amount(10).per(1s));
  const std::string minute = define(bucket(unique("minute")).amount(1000).per(1min));
  int admitted = 0;
  for (int i = 0; i < 20; ++i) admitted += limiter().take({{second, "a"}, {minute, "a"}}).value().allowed() ? 1 : 0;
  EXPECT_EQ(admitted, 10);
}

TEST_P(SeedDefects, F5_ResetIsToldAfterTheCharge) {
  const std::string name = define(bucket(unique("api")).amount(10).per(60s));
  EXPECT_EQ(take(name, "a", 10).reset_after.ns(), Duration(60s).ns());
}

TEST_P(SeedDefects, F6_MoreThanTheCapacityIsNeverAWait) {
  const std::string name = define(bucket(unique("api")).amount(10).per(60s));
  EXPECT_TRUE(take(name, "a", 20).retry_after.is_never());
  EXPECT_EQ(take(name, "a", 20).retry_after.seconds(), -1);
}

TEST_P(SeedDefects, F7_TheWaitCountsTheAccruedFraction) {
  const std::string name = define(bucket(unique("api")).amount(10).per(10s));
  take(name, "a", 10);
  advance(999ms);
  EXPECT_EQ(take(name, "a").retry_after.ns(), Duration(1ms).ns());
}

TEST_P(SeedDefects, F8_TimeIsExactToTheClocksStep) {
  // One unit in each nanosecond.
  const std::string name = define(bucket(unique("api")).amount(1'000'000).per(1ms));
  take(name, "a", 1'000'000);
  const Duration step = world().clock_resolution();
  for (int i = 0; i < 300; ++i) {
    advance(step);
    EXPECT_EQ(take_mode({name, "a", 1'000'000}, Mode::kUpTo).taken, step.ns());
  }
}

TEST_P(SeedDefects, F9_F10_AReloadIsNoRefill) {
  const Limit rule = bucket(unique("api")).amount(10).per(60s);
  define(rule);
  take(rule.name(), "a", 10);
  constexpr int kInstances = 5;
  for (int i = 0; i < kInstances; ++i) {
    define(rule);
    EXPECT_FALSE(take(rule.name(), "a").allowed());
    define(bucket(rule.name()).amount(11 + i).per(60s).burst(10));
    EXPECT_FALSE(take(rule.name(), "a").allowed());
  }
}

// ---- 000: storage quota

TEST_P(SeedDefects, S1_ARefundDeliveredTwiceCountsOnce) {
  const std::string storage = define(stock(unique("storage")).amount(1000));
  take(storage, "tenant", 800);
  const std::string id = unique("refund");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(limiter().give({{storage, "tenant", 100}}, id).value().amount, 100);
  EXPECT_EQ(usage(storage, "tenant").used, 700);
}

TEST_P(SeedDefects, S2_ANegativeAmountIsRefused) {
  const std::string storage = define(stock(unique("storage")).amount(1000));
  take(storage, "tenant", 800);
  expect_error(limiter().take(storage, "tenant", -500), ErrorCode::kInvalid, "cost");
  expect_error(limiter().give(storage, "tenant", -500), ErrorCode::kInvalid, "cost");
  expect_error(limiter().hold({{storage, "tenant", -500}}, 1h), ErrorCode::kInvalid, "cost");
  EXPECT_EQ(usage(storage, "tenant").used, 800);
}

TEST_P(SeedDefects, S3_LargeAmountsAreExactOrRefused) {
  expect_error(limiter().define(scoped(stock(unique("storage")).amount(200'000'000'000'000'000))), ErrorCode::kInvalid,
               "amount");
  const std::string storage = define(stock(unique("largest")).amount(kAmountMax));
  EXPECT_EQ(take(storage, "tenant", kAmountMax - 2).remaining, 2);
  EXPECT_EQ(take(storage, "tenant", 1).remaining, 1);
  EXPECT_EQ(take(storage, "tenant", 1).remaining, 0);
  EXPECT_FALSE(take(storage, "tenant", 1).allowed());
  EXPECT_EQ(limiter().give(storage, "tenant", 1).value().remaining, 1);
  EXPECT_TRUE(take(storage, "tenant", 1).allowed());
}

TEST_P(SeedDefects, S5_ASyncKeepsWhatIsInFlight) {
  const std::string storage = define(stock(unique("storage")).amount(1000));
  take(storage, "tenant", 500);
  hold({storage, "tenant", 400}, 1h);
  limiter().reconcile(storage, "tenant", 500).value();
  EXPECT_FALSE(take(storage, "tenant", 500).allowed());
  EXPECT_TRUE(take(storage, "tenant", 100).allowed());
}

TEST_P(SeedDefects, S6_AReserveDuringASyncIsNotLost) {
  const std::string storage = define(stock(unique("storage")).amount(1000));
  take(storage, "tenant", 480);
  const Amount sum = 500;  // counted from the files, before the reserve
  const std::string id = hold({storage, "tenant", 400}, 1h);
  const Reconciliation sync = limiter().reconcile(storage, "tenant", sum).value();
  EXPECT_EQ(sync.used_before, 480);
  EXPECT_EQ(charged(storage, "tenant"), 900);
  limiter().commit(id).value();
  EXPECT_EQ(usage(storage, "tenant").used, 900);
}

TEST_P(SeedDefects, S7_ARetriedReserveHappensOnce) {
  const std::string storage = define(stock(unique("storage")).amount(1000));
  const std::string reserve = unique("reserve");
  const std::string upload = unique("upload");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(limiter().take({{storage, "tenant", 300}}, {.id = reserve}).value().allowed());
    EXPECT_TRUE(limiter().hold({{storage, "tenant", 300}}, 1h, {.id = upload}).value().allowed());
  }
  EXPECT_EQ(charged(storage, "tenant"), 600);
}

TEST_P(SeedDefects, S8_UsageDoesNotGetLostWithTime) {
  const std::string storage = define(stock(unique("storage")).amount(1000));
  take(storage, "tenant", 1000);
  advance(24h * 365 * 5);
  EXPECT_EQ(usage(storage, "tenant").used, 1000);
  EXPECT_FALSE(take(storage, "tenant").allowed());
}

// ---- 002: monthly quota

TEST_P(SeedDefects, M1_ADeniedRequestIsNotCounted) {
  const std::string links = define(calendar(unique("links")).amount(20).per(Unit::kMonth));
  take(links, "user", 20);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(take(links, "user").allowed());
  EXPECT_EQ(usage(links, "user").used, 20);
  limiter().give(links, "user", 1).value();
  const std::string id = hold({links, "user", 1}, 1min);  // the creation fails
  limiter().cancel(id).value();
  EXPECT_EQ(usage(links, "user").used, 19);
}

TEST_P(SeedDefects, M3_OneOfAHundredPassesAtNineteenOfTwenty) {
  const std::string links = define(calendar(unique("links")).amount(20).per(Unit::kYear));
  take(links, "user", 19);
  std::atomic<int> passed{0};
  run_threads(10, [&](int) {
    for (int i = 0; i < 10; ++i) passed += take(links, "user").allowed() ? 1 : 0;
  });
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(usage(links, "user").used, 20);
}

TEST_P(SeedDefects, M4_AMonthIsTheCalendars) {
  world().travel_to(Instant::from_unix_seconds(1'798'761'600));  // 2027-01-01 00:00 UTC
  const std::string links = define(calendar(unique("links")).amount(20).per(Unit::kMonth));
  EXPECT_EQ(take(links, "user", 20).reset_after.ns(), Duration(24h * 31).ns());
  advance(24h * 30);
  EXPECT_FALSE(take(links, "user").allowed()) << "on 31 January";
  advance(24h);
  EXPECT_TRUE(take(links, "user", 20).allowed()) << "on 1 February";
  EXPECT_EQ(usage(links, "user").reset_after.ns(), Duration(24h * 28).ns());
}

TEST_P(SeedDefects, M5_TheMonthIsOneZonesThroughout) {
  world().travel_to(Instant::from_unix_seconds(1'801'407'599));  // 2027-01-31 23:59:59 in Tokyo, 14:59:59 UTC
  const std::string tokyo = define(calendar(unique("tokyo")).amount(20).per(Unit::kMonth).zone("Asia/Tokyo"));
  const std::string utc = define(calendar(unique("utc")).amount(20).per(Unit::kMonth));
  EXPECT_EQ(take(tokyo, "user", 20).reset_after.ns(), Duration(1s).ns());
  EXPECT_EQ(take(utc, "user", 20).reset_after.ns(), Duration(9h + 1s).ns());
  advance(1s);
  EXPECT_TRUE(take(tokyo, "user", 20).allowed());
  EXPECT_FALSE(take(utc, "user").allowed());
  EXPECT_EQ(usage(tokyo, "user").reset_after.ns(), Duration(24h * 28).ns());
  advance(9h);
  EXPECT_TRUE(take(utc, "user").allowed());
  EXPECT_FALSE(take(tokyo, "user").allowed());
}

// ---- 003: counters

TEST_P(SeedDefects, Q1_NoAmountMintsTokens) {
  const std::string quota = define(window(unique("quota")).amount(100).per(1min));
  take(quota, "a", 60);
  const auto wrapped = static_cast<Amount>(std::numeric_limits<std::uint64_t>::max());
  for (const Amount amount : {wrapped, std::numeric_limits<Amount>::max(), std::numeric_limits<Amount>::min()}) {
    expect_error(limiter().take(quota, "a", amount), ErrorCode::kInvalid, "cost");
    expect_error(limiter().take({{quota, "a", amount}}, {.mode = Mode::kForce}), ErrorCode::kInvalid, "cost");
  }
  EXPECT_EQ(usage(quota, "a").used, 60);
}

TEST_P(SeedDefects, Q2_AWindowOfZeroIsRefused) {
  const std::string quota = unique("quota");
  expect_error(limiter().define(scoped(window(quota).amount(1).per(0s))), ErrorCode::kInvalid, "period");
  expect_error(limiter().define(scoped(sliding(quota).amount(1).per(0s))), ErrorCode::kInvalid, "period");
  expect_error(limiter().define(scoped(bucket(quota).amount(1).per(0s))), ErrorCode::kInvalid, "period");
  expect_error(limiter().take(quota, "k"), ErrorCode::kNoLimit, quota);
}

TEST_P(SeedDefects, Q4_HalfOfAFreshLimitFitsAtOnce) {
  for (const Limit& limit : each_kind(100)) {
    SCOPED_TRACE(limit.name());
    EXPECT_TRUE(take(limit.name(), "a", 50).allowed());
    EXPECT_TRUE(take(limit.name(), "b", 100).allowed());
  }
}

TEST_P(SeedDefects, Q12_DefiningAgainIsNoRefill) {
  const std::string quota = define(window(unique("quota")).amount(100).per(1min));
  start_window(1min);
  take(quota, "a", 100);
  for (int i = 0; i < 3; ++i) define(window(quota).amount(100).per(1min));
  EXPECT_FALSE(take(quota, "a").allowed());
  define(window(quota).amount(130).per(1min));
  EXPECT_EQ(take_mode({quota, "a", 100}, Mode::kUpTo).taken, 30);
}

TEST_P(SeedDefects, Q13_ADroppedLimitStaysAway) {
  const std::string quota = define(window(unique("quota")).amount(100).per(1min));
  take(quota, "a", 100);
  EXPECT_TRUE(limiter().drop(quota).value());
  advance(1h);
  expect_error(limiter().take(quota, "a"), ErrorCode::kNoLimit, quota);
  EXPECT_FALSE(limiter().find_limit(quota).value().has_value());
}

TEST_P(SeedDefects, Q18_OnlyAFixedWindowAdmitsTwiceAroundItsEnd) {
  const struct {
    Limit limit;
    Amount next;  // admitted just after the end of a window that was used up just before it
  } rows[] = {
      {window(unique("window")).amount(100).per(1min), 100},
      {sliding(unique("sliding")).amount(100).per(1min), 0},
      {bucket(unique("bucket")).amount(100).per(1min), 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.limit.name());
    define(row.limit);
    start_window(1min);
    advance(1min + Duration(-1ms));
    EXPECT_TRUE(take(row.limit.name(), "a", 100).allowed());
    advance(1ms);
    EXPECT_EQ(take_mode({row.limit.name(), "a", 100}, Mode::kUpTo).taken, row.next);
  }
}

// ---- 004: reservations

TEST_P(SeedDefects, R1_TwoReservationsFitAndTwoAreMade) {
  const std::string credits = define(stock(unique("credits")).amount(2));
  std::atomic<int> reserved{0};
  run_threads(4, [&](int) { reserved += limiter().hold({{credits, "user", 1}}, 1h).value().allowed() ? 1 : 0; });
  EXPECT_EQ(reserved, 2);
  EXPECT_EQ(usage(credits, "user").held, 2);
}

TEST_P(SeedDefects, R2_ALivingJobKeepsItsReservation) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string id = hold({credits, "user", 10}, 1h);
  constexpr int kAttempts = 3;
  for (int minutes = 0; minutes < kAttempts * 90; minutes += 30) {
    advance(30min);
    limiter().extend(id, 1h).value();
    EXPECT_FALSE(take(credits, "user").allowed());
  }
  EXPECT_EQ(limiter().commit(id, 8).value().amount, 8);
}

TEST_P(SeedDefects, R3_ARetryIsStillReserved) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string job = unique("job");
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_TRUE(limiter().hold({{credits, "user", 10}}, 1h, {.id = job}).value().allowed());
    EXPECT_EQ(usage(credits, "user").held, 10);
    EXPECT_FALSE(take(credits, "user").allowed());
    advance(10min);  // the attempt fails, and releases nothing
  }
  limiter().cancel(job).value();
  EXPECT_EQ(charged(credits, "user"), 0);
}

TEST_P(SeedDefects, R4_ACommitIsOneStep) {
  const std::string credits = define(stock(unique("credits")).amount(1'000'000));
  std::atomic<bool> is_done{false};
  std::atomic<int> wrong{0};
  take(credits, "user", 1000);
  std::vector<std::string> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(hold({credits, "user", 5}, 1h));
  std::thread watcher([&] {
    while (!is_done) wrong += charged(credits, "user") == 2000 ? 0 : 1;
  });
  for (const std::string& id : ids) limiter().commit(id).value();
  is_done = true;
  watcher.join();
  EXPECT_EQ(wrong, 0) << "counted twice, or not at all";
  EXPECT_EQ(usage(credits, "user").used, 2000);
}

TEST_P(SeedDefects, R5_ADuplicateJobGetsTheSameAnswer) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string job = unique("job");
  const HoldDecision first = limiter().hold({{credits, "user", 7}}, 1h, {.id = job}).value();
  EXPECT_EQ(limiter().hold({{credits, "user", 7}}, 1h, {.id = job}).value(), first);
  EXPECT_EQ(usage(credits, "user").held, 7);
}

TEST_P(SeedDefects, R7_AHoldOverTheMonthsEndBelongsToItsMonth) {
  world().travel_to(Instant::from_unix_seconds(1'801'436'400));  // 2027-01-31 23:00 UTC
  const std::string credits = define(calendar(unique("credits")).amount(100).per(Unit::kMonth));
  take(credits, "user", 40);
  const std::string job = hold({credits, "user", 60}, 2h);
  advance(90min);
  EXPECT_EQ(charged(credits, "user"), 0) << "February is untouched";
  EXPECT_TRUE(take(credits, "user", 30).allowed());
  EXPECT_EQ(limiter().commit(job, 50).value(), (Settlement{.amount = 50, .remaining = 70, .limit = 100}));
  EXPECT_EQ(usage(credits, "user").used, 30);
}

}  // namespace
}  // namespace mete::conformance
