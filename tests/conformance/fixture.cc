#include "conformance/fixture.h"

#include <gtest/gtest-spi.h>

#include <atomic>

#include "base/random.h"
#include "conformance/exceptions.h"
#include "support/long_form.h"

namespace mete::conformance {

namespace {

std::string next_suffix() {
  static const std::string kRun = std::to_string(base::random_number());
  static std::atomic<int> tests{0};
  return kRun + "-" + std::to_string(tests.fetch_add(1));
}

}  // namespace

struct Conformance::Expected {
  using Reporter = ::testing::ScopedFakeTestPartResultReporter;

  explicit Expected(std::string_view why) : reason(why), reporter(Reporter::INTERCEPT_ALL_THREADS, &results) {}

  std::string_view reason;
  ::testing::TestPartResultArray results;
  Reporter reporter;
};

Conformance::Conformance() : world_(GetParam().make()), suffix_(next_suffix()) {}

Conformance::~Conformance() = default;

void Conformance::SetUp() {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  if (const Exception* exception = find_exception(GetParam().name, test)) {
    expected_ = std::make_unique<Expected>(exception->reason);
  }
}

void Conformance::TearDown() {
  if (expected_ == nullptr) return;
  const std::string reason(expected_->reason);
  bool has_failed = false;
  for (int i = 0; i < expected_->results.size(); ++i) {
    has_failed = has_failed || expected_->results.GetTestPartResult(i).failed();
  }
  expected_.reset();
  if (has_failed) GTEST_SKIP() << GetParam().name << ": " << reason;
  ADD_FAILURE() << "it passes: its line in exceptions.cc is superfluous";
}

int Conformance::many(int count) {
  constexpr int kShare = 5;
  return GetParam().is_slow && !support::is_long_form() ? count / kShare : count;
}

std::string Conformance::unique(std::string_view text) const { return std::string(text) + "-" + suffix_; }

Duration Conformance::in_steps(Duration wait) const {
  const std::int64_t rest = wait.ns() % step().ns();
  return rest == 0 || wait.is_never() ? wait : wait + Duration::from_ns(step().ns() - rest);
}

std::string Conformance::define(const Limit& limit) {
  limiter().define(scoped(limit)).value();
  return limit.name();
}

Limit Conformance::of_kind(Kind kind, const std::string& name, Amount amount) {
  Limit limit = scoped(Limit(kind, name));
  limit.amount(amount);
  if (kind == Kind::kCalendar) return limit.per(Unit::kHour);
  return kind == Kind::kStock ? limit : limit.per(kHour);
}

std::vector<Limit> Conformance::each_kind(Amount amount) {
  std::vector<Limit> limits;
  for (const Kind kind : {Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kCalendar, Kind::kStock}) {
    limits.push_back(of_kind(kind, unique(to_string(kind)), amount));
    define(limits.back());
  }
  return limits;
}

void Conformance::start_window(Duration period) {
  const auto length = static_cast<std::uint64_t>(period.ns());
  advance(Duration::from_ns(static_cast<std::int64_t>(length - world_->now().ns() % length)));
}

Decision Conformance::take(std::string_view limit, std::string_view key, Amount cost) {
  return limiter().take(limit, key, cost).value();
}

Decision Conformance::take_mode(const Charge& charge, Mode mode) {
  return limiter().take({charge}, {.mode = mode}).value();
}

std::string Conformance::hold(const Charge& charge, Duration ttl) {
  const HoldDecision decision = limiter().hold({charge}, ttl).value();
  EXPECT_TRUE(decision.allowed()) << "a hold of " << charge.cost << " on " << charge.limit;
  return decision.id;
}

Usage Conformance::usage(std::string_view limit, std::string_view key) const {
  return limiter().usage(limit, key).value();
}

Amount Conformance::charged(std::string_view limit, std::string_view key) const {
  const Usage now = usage(limit, key);
  return now.used + now.held;
}

Conformance::Standing Conformance::standing(std::string_view limit, std::string_view key) const {
  const Usage now = usage(limit, key);
  return {now, limiter().peek(limit, key, now.limit).value()};
}

void Conformance::expect_exact_wait(const Charge& charge) {
  const Decision denied = limiter().peek(charge.limit, charge.key, charge.cost).value();
  ASSERT_FALSE(denied.allowed());
  ASSERT_FALSE(denied.retry_after.is_never());
  ASSERT_GT(denied.retry_after, Duration());
  const Duration wait = in_steps(denied.retry_after);
  advance(wait + Duration::from_ns(-step().ns()));
  const Decision early = limiter().peek(charge.limit, charge.key, charge.cost).value();
  EXPECT_FALSE(early.allowed()) << "a step before " << wait.ns() << " ns";
  EXPECT_EQ(in_steps(early.retry_after).ns(), step().ns());
  advance(step());
  EXPECT_TRUE(limiter().peek(charge.limit, charge.key, charge.cost).value().allowed())
      << "after " << wait.ns() << " ns";
}

}  // namespace mete::conformance
