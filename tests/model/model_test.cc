// The model itself, on cases computed by hand, and the proof that the comparison can fail.
#include <gtest/gtest.h>

#include "model/history.h"
#include "model/model_calendar.h"
#include "model/model_limiter.h"
#include "model/never_laxer.h"

namespace mete::model {
namespace {

using namespace std::chrono_literals;

constexpr Instant k2023 = Instant::from_unix_seconds(1'672'531'200);

class Model : public ::testing::Test {
 protected:
  Decision take(std::string_view limit, Amount cost, Mode mode = Mode::kTake) {
    const Charge charges[] = {{limit, "alice", cost}};
    return limiter_.take(charges, {.mode = mode}).value();
  }
  std::string hold(std::string_view limit, Amount cost, Duration ttl) {
    const Charge charges[] = {{limit, "alice", cost}};
    return limiter_.hold(charges, ttl).value().id;
  }
  Usage usage(std::string_view limit) { return limiter_.usage(limit, "alice").value(); }

  ManualClock clock_{k2023};
  ModelLimiter limiter_{clock_};
};

TEST_F(Model, BucketOfThreePerSecond) {
  ASSERT_TRUE(limiter_.define(bucket("b").amount(3).per(1s)).has_value());
  EXPECT_EQ(take("b", 3), (Decision{true, 3, 0, 3, {}, 1s, {}}));
  EXPECT_EQ(take("b", 1), (Decision{false, 0, 0, 3, 333'333'334ns, 1s, {"b"}}));
  clock_.advance(333'333'333ns);
  EXPECT_EQ(take("b", 1).retry_after, Duration(1ns));
  clock_.advance(1ns);
  EXPECT_TRUE(take("b", 1).allowed());
  EXPECT_TRUE(take("b", 4).retry_after.is_never());
}

TEST_F(Model, WindowAndSliding) {
  ASSERT_TRUE(limiter_.define(window("w").amount(5).per(10s)).has_value());
  ASSERT_TRUE(limiter_.define(sliding("s").amount(10).per(10s)).has_value());
  clock_.advance(9s);
  EXPECT_EQ(take("w", 5), (Decision{true, 5, 0, 5, {}, 1s, {}}));
  EXPECT_EQ(take("w", 1).retry_after, Duration(1s));
  EXPECT_EQ(take("s", 10), (Decision{true, 10, 0, 10, {}, 10s, {}}));
  EXPECT_EQ(take("s", 1).retry_after, Duration(10s));
  clock_.advance(3s);
  EXPECT_EQ(usage("w"), (Usage{0, 0, 5, 5, {}}));
  EXPECT_EQ(usage("s"), (Usage{10, 0, 0, 10, 7s}));
}

TEST_F(Model, HoldsExpireInTheirTimeAndCreditTheirOwnWindow) {
  ASSERT_TRUE(limiter_.define(stock("s").amount(10)).has_value());
  ASSERT_TRUE(limiter_.define(window("w").amount(10).per(10s)).has_value());
  ASSERT_TRUE(limiter_.define(bucket("b").amount(10).per(10s)).has_value());
  hold("s", 10, 7s);
  hold("w", 10, 7s);
  hold("b", 10, 7s);
  EXPECT_EQ(take("s", 10).retry_after, Duration(7s));
  EXPECT_EQ(take("w", 10).retry_after, Duration(7s));
  EXPECT_EQ(take("b", 10).retry_after, Duration(7s));  // 7 units are refilled, and 3 come back
  EXPECT_EQ(take("b", 6).retry_after, Duration(6s));
  clock_.advance(7s);
  for (const auto* name : {"s", "w", "b"}) EXPECT_EQ(usage(name).remaining, 10) << name;
  const std::string id = hold("w", 4, 7s);
  clock_.advance(3s);
  EXPECT_EQ(usage("w").used, 0);
  EXPECT_EQ(take("w", 9).remaining, 1);
  EXPECT_EQ(limiter_.cancel(id).value(), (Settlement{0, 1, 10}));
}

TEST_F(Model, CommitsReturnTheRest) {
  ASSERT_TRUE(limiter_.define(stock("s").amount(10)).has_value());
  const std::string id = hold("s", 8, 1h);
  EXPECT_EQ(usage("s"), (Usage{0, 8, 2, 10, Duration::never()}));
  const Amount more[] = {9};
  EXPECT_EQ(limiter_.commit(id, more).error().code, ErrorCode::kExceeds);
  const Amount beyond[] = {11};
  EXPECT_EQ(limiter_.commit_with_overage(id, beyond).error().code, ErrorCode::kExceeds);
  const Amount less[] = {5};
  EXPECT_EQ(limiter_.commit(id, less).value(), (Settlement{5, 5, 10}));
  EXPECT_EQ(limiter_.commit(id, less).value(), (Settlement{5, 5, 10}));
  EXPECT_EQ(limiter_.commit(id).error().code, ErrorCode::kMismatch);
  EXPECT_EQ(limiter_.cancel(id).error().code, ErrorCode::kNoHold);
  EXPECT_EQ(usage("s").used, 5);
  const std::string late = hold("s", 1, 1h);
  clock_.advance(1h);
  EXPECT_EQ(limiter_.commit(late).error().code, ErrorCode::kExpired);
}

TEST_F(Model, IdsAreAnsweredTheSame) {
  ASSERT_TRUE(limiter_.define(stock("s").amount(10)).has_value());
  const Charge charges[] = {{"s", "alice", 6}};
  const auto first = limiter_.take(charges, {.id = "x"}).value();
  EXPECT_EQ(limiter_.take(charges, {.id = "x"}).value(), first);
  EXPECT_EQ(limiter_.give(charges, "x").error().code, ErrorCode::kMismatch);
  EXPECT_EQ(usage("s").used, 6);
  clock_.advance(24h);
  EXPECT_FALSE(limiter_.take(charges, {.id = "x"}).value().allowed());
}

TEST_F(Model, ModesAndShadows) {
  ASSERT_TRUE(limiter_.define(stock("s").amount(10)).has_value());
  ASSERT_TRUE(limiter_.define(stock("t").amount(3).shadow()).has_value());
  EXPECT_EQ(take("s", 12, Mode::kUpTo).taken, 10);
  EXPECT_FALSE(take("s", 1, Mode::kUpTo).allowed());
  EXPECT_EQ(take("s", 5, Mode::kForce), (Decision{true, 5, 0, 10, {}, Duration::never(), {}}));
  const Charge back[] = {{"s", "alice", 15}};
  EXPECT_EQ(limiter_.give(back).value(), (Settlement{15, 10, 10}));
  const Charge both[] = {{"s", "alice", 4}, {"t", "alice", 4}};
  EXPECT_EQ(limiter_.take(both).value(), (Decision{true, 8, 6, 10, {}, Duration::never(), {"t"}}));
}

TEST_F(Model, RedefiningKeepsTheUsage) {
  ASSERT_TRUE(limiter_.define(bucket("x").amount(10).per(10s)).has_value());
  take("x", 5);
  clock_.advance(1500ms);
  ASSERT_TRUE(limiter_.define(window("x").amount(20).per(60s)).has_value());
  EXPECT_EQ(usage("x"), (Usage{4, 0, 16, 20, 58'500ms}));
  ASSERT_TRUE(limiter_.override_amount("x", "alice", 2).has_value());
  EXPECT_EQ(usage("x").remaining, 0);
  EXPECT_EQ(limiter_.reconcile("x", "alice", 1).value().used_before, 4);
  EXPECT_EQ(usage("x").remaining, 1);
}

TEST_F(Model, TimeStandsStillWhileTheClockIsBehind) {
  ASSERT_TRUE(limiter_.define(bucket("b").amount(10).per(10s)).has_value());
  take("b", 10);
  clock_.advance(2s);
  EXPECT_EQ(usage("b").remaining, 2);
  clock_.advance(-5s);
  EXPECT_EQ(usage("b").remaining, 2);
  clock_.advance(6s);
  EXPECT_EQ(usage("b").remaining, 3);
}

TEST(ModelCalendar, PeriodsOfUtc) {
  const Wide second = 1'000'000'000;
  const struct {
    Unit unit;
    int anchor;
    std::int64_t at, start, end;
  } rows[] = {
      {Unit::kHour, 0, 1'709'210'096, 1'709'208'000, 1'709'211'600},
      {Unit::kDay, 0, 1'709'210'096, 1'709'164'800, 1'709'251'200},     // 29 February 2024, a Thursday
      {Unit::kWeek, 0, 1'709'210'096, 1'708'905'600, 1'709'510'400},    // from Monday the 26th
      {Unit::kWeek, 5, 1'709'210'096, 1'708'646'400, 1'709'251'200},    // from Friday the 23rd
      {Unit::kMonth, 0, 1'709'210'096, 1'706'745'600, 1'709'251'200},   // February
      {Unit::kMonth, 31, 1'709'210'096, 1'709'164'800, 1'711'843'200},  // from the 29th to 31 March
      {Unit::kYear, 0, 1'709'210'096, 1'704'067'200, 1'735'689'600},    // 2024
      {Unit::kYear, 406, 1'709'210'096, 1'680'739'200, 1'712'361'600},  // from 6 April 2023
  };
  for (const auto& row : rows) {
    const WideSpan span = calendar_span(row.unit, row.anchor, row.at * second);
    EXPECT_EQ(static_cast<std::int64_t>(span.start / second), row.start) << to_string(row.unit) << row.anchor;
    EXPECT_EQ(static_cast<std::int64_t>(span.end / second), row.end) << to_string(row.unit) << row.anchor;
  }
}

// ---- the comparison

// Answers as the model does, but for one mistake.
class Mistaken final : public Subject {
 public:
  using Mistake = std::function<void(Operation&)>;
  Mistaken(std::unique_ptr<Subject> subject, Mistake mistake)
      : subject_(std::move(subject)), mistake_(std::move(mistake)) {}

  std::string execute(const Operation& operation) override {
    Operation changed = operation;
    mistake_(changed);
    return subject_->execute(changed);
  }
  Result<Usage> usage(const std::string& limit, const std::string& key) override { return subject_->usage(limit, key); }

 private:
  std::unique_ptr<Subject> subject_;
  Mistake mistake_;
};

SubjectFactory mistaken(const Mistaken::Mistake& mistake) {
  return [mistake](const Clock& clock) { return std::make_unique<Mistaken>(model_subject()(clock), mistake); };
}

TEST(Comparison, TheModelAgreesWithItself) {
  const auto difference = find_difference(model_subject(), {.seed = 1, .histories = 100});
  EXPECT_FALSE(difference.has_value()) << difference.value_or("");
}

TEST(Comparison, FindsAndShrinksAChargeThatIsOneTooMuch) {
  const auto report = find_difference(mistaken([](Operation& operation) {
                                        const bool is_charge =
                                            operation.call == Call::kHold && operation.charges.size() == 1;
                                        if (is_charge) operation.charges[0].cost += 1;
                                      }),
                                      {.seed = 1, .histories = 100});
  ASSERT_TRUE(report.has_value());
  EXPECT_NE(report->find("METE_SEED="), std::string::npos);
  EXPECT_LE(std::count(report->begin(), report->end(), '\n'), 8) << *report;
}

TEST(Comparison, FindsWhatIsLaxer) {
  const auto laxer = mistaken([](Operation& operation) {
    const bool is_good = operation.call == Call::kDefine && operation.limit->amount() > 0;
    if (is_good) operation.limit->amount(std::min(operation.limit->amount() + 1, kAmountMax));
  });
  NeverLaxer of_laxer;
  const auto report = find_difference(laxer, {.seed = 1, .histories = 100}, std::ref(of_laxer));
  ASSERT_TRUE(report.has_value());
  EXPECT_LE(std::count(report->begin(), report->end(), '\n'), 8) << *report;
  NeverLaxer of_model;
  EXPECT_FALSE(find_difference(model_subject(), {.seed = 1, .histories = 100}, std::ref(of_model)));
  EXPECT_GT(of_model.admissions(), 500);
  EXPECT_EQ(of_model.stricter(), 0);
}

TEST(Comparison, FindsATimeToLiveThatIsOneNanosecondTooLong) {
  const auto report = find_difference(mistaken([](Operation& operation) {
                                        if (operation.call == Call::kExtend)
                                          operation.ttl = operation.ttl + Duration(1ns);
                                      }),
                                      {.seed = 1, .histories = 500});
  EXPECT_TRUE(report.has_value());
}

TEST(Comparison, FindsAGiveThatIsForgotten) {
  const auto report = find_difference(mistaken([](Operation& operation) {
                                        if (operation.call == Call::kGive) operation.call = Call::kUsage;
                                      }),
                                      {.seed = 1, .histories = 100});
  EXPECT_TRUE(report.has_value());
}

}  // namespace
}  // namespace mete::model
