// What a meter keeps of its parts, against the sums over all of them.

#include "engine/held_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/table/rule_table.h"

namespace mete::engine {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant::from_unix_seconds(1'700'000'000);

core::Rule rule_of(Kind kind, Amount amount, Duration period = {}, Amount capacity = 0) {
  return {.kind = kind, .amount = amount, .capacity = capacity == 0 ? amount : capacity, .period = period};
}

// A meter with parts, as the engine keeps it, beside a plain list of them.
class Meter {
 public:
  Meter(const core::Rule& rule, std::uint32_t seed) : random_(seed), record_(std::in_place, rule, std::nullopt) {
    pass(Duration());
  }

  // Something happens, and time passes; then what is kept must be what the list says.
  void step() {
    pass(Duration::from_ns(below(100) < 20 ? 0 : below(below(10) == 0 ? 3'000'000'000 : 40'000'000)));
    switch (below(10)) {
      case 0:
        if (!list_.empty()) end(static_cast<std::size_t>(below(static_cast<std::int64_t>(list_.size()))));
        break;
      case 1:
        if (!list_.empty()) put_off(static_cast<std::size_t>(below(static_cast<std::int64_t>(list_.size()))));
        break;
      case 2:
        (void)core::give_back(rule(), state_, 1 + below(5), held_of_list(), moment_);
        break;
      case 3:
        charge(1 + below(rule().capacity));
        break;
      default:
        hold(below(3) == 0 ? 1 + below(rule().capacity) : 1);
    }
    compare();
  }
  void redefine(const core::Rule& to) {
    const core::Moment after = RuleRecord(to, std::nullopt).moment(core::State(), moment_.now);
    const core::Rebase old_rule{rule(), moment_};
    if (!core::keeps_charges(old_rule, {to, after})) {
      parts_.remake(old_rule, state_, {to, after});
      for (OpenPart& part : list_) {
        static_cast<core::HeldPart&>(part) = core::remake(rule(), state_, part, moment_);
      }
    }
    state_ = core::rebase(old_rule, state_, {to, after});
    record_.emplace(to, std::nullopt);
    pass(Duration());
    compare();
  }
  [[nodiscard]] std::size_t compared_waits() const { return compared_waits_; }
  [[nodiscard]] std::size_t most_parts() const { return most_parts_; }
  [[nodiscard]] std::size_t memory() const { return memory_.bytes(); }
  void end_all() {
    while (!list_.empty()) end(0);
    parts_.erase_over(parts_.size());
  }

 private:
  // From 0 up to, but not, `end`.
  std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_); }
  [[nodiscard]] const core::Rule& rule() const { return record_->rule(); }

  void pass(Duration length) {
    now_ = now_ + length;
    if (HeldParts::can_end_together(rule().kind) && below(2) == 0) return end_together();
    parts_.erase_over(parts_.size());
    while (!list_.empty() && list_.front().expires_at <= now_) {
      ASSERT_EQ(parts_.first().serial, list_.front().serial);
      core::expire(rule(), state_, list_.front(), record_->moment(state_, list_.front().expires_at));
      ASSERT_TRUE(parts_.erase(parts_.first()));
      list_.erase(list_.begin());
    }
    moment_ = record_->moment(state_, now_);
    core::settle(rule(), state_, moment_);
  }
  // All that is due at once; some of it is erased, and the rest stays there and must not count.
  void end_together() {
    core::State together = state_;
    while (!list_.empty() && list_.front().expires_at <= now_) {
      core::expire(rule(), state_, list_.front(), record_->moment(state_, list_.front().expires_at));
      list_.erase(list_.begin());
    }
    moment_ = record_->moment(state_, now_);
    core::settle(rule(), state_, moment_);
    parts_.end_together(rule(), together, record_->moment(together, now_), now_);
    ASSERT_FALSE(parts_.has_due(now_));
    ASSERT_EQ(core::used(rule(), together, moment_), core::used(rule(), state_, moment_));
    parts_.erase_over(static_cast<std::size_t>(below(4)));
  }
  void charge(Amount units) {
    if (core::fits(rule(), state_, units, moment_)) core::charge(rule(), state_, units, moment_);
  }
  void hold(Amount units) {
    if (!core::fits(rule(), state_, units, moment_)) return;
    core::charge(rule(), state_, units, moment_);
    OpenPart part;
    part.units = units;
    part.made_at = moment_.now;
    part.expires_at = now_ + ttl();
    part.serial = next_serial_++;
    const std::string id = "hold " + std::to_string(part.serial);
    part.id = id;
    add(part);
    most_parts_ = std::max(most_parts_, list_.size());
  }
  // At times about the period: then a sliding meter's part expires as its slot passes, or a little before or after.
  Duration ttl() {
    const std::int64_t period_ns = rule().period.ns();
    if (below(3) == 0 && period_ns > 0) {
      return Duration::from_ns(period_ns - period_ns / 100 + below(period_ns / 50));
    }
    return Duration::from_ns(1 + below(below(5) == 0 ? 9'000'000'000 : 900'000'000));
  }
  void add(const OpenPart& part) {
    const OpenPart& kept = parts_.insert(part, rule(), state_);
    list_.insert(std::upper_bound(list_.begin(), list_.end(), part), part);
    std::find_if(list_.begin(), list_.end(), [&](const OpenPart& other) { return other.serial == part.serial; })->id =
        kept.id;
  }
  void end(std::size_t index) {
    core::release(rule(), state_, list_[index], moment_);
    ASSERT_TRUE(parts_.erase(list_[index]));
    ASSERT_FALSE(parts_.erase(list_[index]));
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void put_off(std::size_t index) {
    OpenPart part = list_[index];
    const std::string id(part.id);
    part.id = id;
    ASSERT_TRUE(parts_.erase(part));
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(index));
    part.expires_at = now_ + Duration::from_ns(1 + below(5'000'000'000));
    add(part);
  }

  [[nodiscard]] Amount held_of_list() const {
    Amount total = 0;
    for (const OpenPart& part : list_) total += core::still_charged(rule(), state_, part, moment_);
    return total;
  }
  void compare() {
    ASSERT_EQ(parts_.has_over(), parts_.size() > list_.size());
    ASSERT_EQ(parts_.held(rule(), state_, moment_), held_of_list()) << "with " << list_.size() << " parts";
    std::size_t index = 0;
    for (const OpenPart& part : parts_) {
      ASSERT_EQ(part.serial, list_[index].serial);
      ASSERT_EQ(part.id, "hold " + std::to_string(part.serial));
      ASSERT_EQ(parts_.find(part), &part);
      ++index;
    }
    ASSERT_EQ(index, list_.size());
    for (const Amount cost : {Amount{1}, 1 + below(rule().capacity), rule().capacity, rule().capacity + 1}) {
      const Duration wait = core::wait_for(rule(), state_, cost, moment_, list_, HeldParts::kLookAheadMax);
      ASSERT_EQ(parts_.wait_for(rule(), state_, cost, moment_), wait)
          << "for " << cost << " with " << list_.size() << " parts";
      if (wait != Duration() && !wait.is_never()) ++compared_waits_;
    }
  }

  std::mt19937 random_;
  std::optional<RuleRecord> record_;
  core::State state_;
  core::Moment moment_;
  Instant now_ = kStart;
  MemoryGauge memory_{0};
  HeldParts parts_{memory_};
  std::vector<OpenPart> list_;
  std::uint64_t next_serial_ = 1;
  std::size_t compared_waits_ = 0;
  std::size_t most_parts_ = 0;
};

const core::Rule kRules[] = {
    rule_of(Kind::kStock, 500),
    rule_of(Kind::kWindow, 300, 1s),
    rule_of(Kind::kSliding, 90, 1s),
    rule_of(Kind::kSliding, 5000, 2s),
    rule_of(Kind::kBucket, 100, 1s, 400),
    rule_of(Kind::kBucket, 7, 3s, 60),
    rule_of(Kind::kBucket, 1'000'000'007, 1s),
};

class HeldPartsTest : public ::testing::TestWithParam<core::Rule> {};
INSTANTIATE_TEST_SUITE_P(Kinds, HeldPartsTest, ::testing::ValuesIn(kRules));

TEST_P(HeldPartsTest, KeepsWhatTheSumOverAllPartsWouldBe) {
  std::size_t waits = 0;
  std::size_t most_parts = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Meter meter(GetParam(), seed);
    for (int i = 0; i < 400 && !::testing::Test::HasFatalFailure(); ++i) meter.step();
    waits += meter.compared_waits();
    most_parts = std::max(most_parts, meter.most_parts());
    meter.end_all();
    EXPECT_EQ(meter.memory(), 0U);
  }
  EXPECT_GT(waits, 500U);
  EXPECT_GT(most_parts, 15U);
}

TEST_P(HeldPartsTest, KeepsItThroughRedefinitions) {
  Meter meter(GetParam(), 7);
  for (int round = 0; round < 3; ++round) {
    for (const core::Rule& rule : kRules) {
      meter.redefine(rule);
      for (int i = 0; i < 60 && !::testing::Test::HasFatalFailure(); ++i) meter.step();
    }
  }
}

// What a snapshot has of a meter comes in the order of expiry, and maybe under a rule that an override changes later.
TEST_P(HeldPartsTest, CountsPartsOfAnotherRuleAnew) {
  const core::Rule& rule = GetParam();
  MemoryGauge memory(0);
  HeldParts parts(memory);
  core::State state;
  const core::Moment moment = RuleRecord(rule, std::nullopt).moment(state, kStart);
  core::settle(rule, state, moment);
  OpenPart part;
  part.units = 2;
  part.made_at = kStart;
  part.expires_at = kStart + 10s;
  for (part.serial = 1; part.serial <= 5; ++part.serial) parts.insert(part, rule_of(Kind::kBucket, 3, 2s), state);
  EXPECT_EQ(parts.held(rule, state, moment), 10);
}

}  // namespace
}  // namespace mete::engine
