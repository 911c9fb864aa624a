#include "engine/records/change.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/records/change_codec.h"

namespace mete::engine {
namespace {

using namespace std::chrono_literals;

// Takes every kind of change, and keeps what it is asked about.
class Collector final : public ChangeVisitor {
 public:
  Result<void> visit(MeterChange& change) override { return keep(change, meters); }
  Result<void> visit(OperationChange& change) override { return keep(change, operations); }
  Result<void> visit(OverrideChange& change) override { return keep(change, overrides); }
  Result<void> visit(KeyChange& change) override { return keep(change, keys); }
  Result<void> visit(LimitChange& change) override { return keep(change, limits); }
  Result<void> visit(DropChange& change) override { return keep(change, drops); }
  Result<void> visit(ClearChange& change) override { return keep(change, clears); }
  Result<void> visit(NumbersChange& change) override { return keep(change, numbers); }

  std::vector<MeterChange> meters;
  std::vector<OperationChange> operations;
  std::vector<OverrideChange> overrides;
  std::vector<KeyChange> keys;
  std::vector<LimitChange> limits;
  std::vector<DropChange> drops;
  std::vector<ClearChange> clears;
  std::vector<NumbersChange> numbers;

 private:
  template <class Change>
  static Result<void> keep(Change& change, std::vector<Change>& kept) {
    kept.push_back(std::move(change));
    return {};
  }
};

const std::string kState(16, 's');  // NOLINT(cert-err58-cpp)

MeterChange meter_with_parts() {
  PartChange part;
  part.units = 7;
  part.made_at = Instant::from_ns(11);
  part.expires_at = Instant::from_ns(99);
  part.serial = 300;
  part.charge = 2;
  part.id = "job";
  MeterChange change{.generation = 1000, .is_even = false, .key = "alice", .state = kState};
  change.expired_until = Instant::from_ns(5);
  change.removed = {part};
  change.added = {part, part};
  return change;
}

TEST(Change, IsReadAsItWasWritten) {
  Encoder record;
  write_change(record, meter_with_parts());
  write_change(record, MeterChange{.generation = 1, .key = "gone", .state = {}});
  write_change(record, OverrideChange{3, "bob", 500});
  write_change(record, OverrideChange{3, "bob", std::nullopt});
  write_change(record, KeyChange{.key = "c", .type = core::KeyType::kCounter, .value = -5});
  write_change(record, DropChange{9});
  write_change(record, ClearChange());
  write_change(record, NumbersChange{12, 13});
  Collector found;
  ASSERT_TRUE(read_changes(record.view(), found));
  ASSERT_EQ(found.meters.size(), 2U);
  const MeterChange& meter = found.meters[0];
  EXPECT_EQ(meter.generation, 1000U);
  EXPECT_FALSE(meter.is_even);
  EXPECT_EQ(meter.key, "alice");
  EXPECT_EQ(meter.state, kState);
  EXPECT_EQ(meter.expired_until, Instant::from_ns(5));
  ASSERT_EQ(meter.removed.size(), 1U);
  ASSERT_EQ(meter.added.size(), 2U);
  EXPECT_EQ(meter.added[1].units, 7);
  EXPECT_EQ(meter.added[1].serial, 300U);
  EXPECT_EQ(meter.added[1].charge, 2U);
  EXPECT_EQ(meter.added[1].id, "job");
  EXPECT_TRUE(found.meters[1].state.empty());
  EXPECT_EQ(found.overrides.at(0).amount, 500);
  EXPECT_EQ(found.overrides.at(1).amount, std::nullopt);
  EXPECT_EQ(found.keys.at(0).value, -5);
  EXPECT_EQ(found.keys.at(0).expires_at, Instant::max());
  EXPECT_EQ(found.drops.at(0).generation, 9U);
  EXPECT_EQ(found.clears.size(), 1U);
  EXPECT_EQ(found.numbers.at(0).next_serial, 13U);
}

TEST(Change, OfALimitHasEveryField) {
  const Limit limits[] = {
      bucket("b").amount(5).per(1min).burst(9).shadow(),
      calendar("c").amount(7).per(Unit::kYear).zone("Asia/Tokyo").anchor(month_day(4, 6)).durable(Durable::kNever),
      stock("s").amount(kAmountMax).on_fail(OnFail::kOpen).scope(Scope::kShared),
  };
  for (const Limit& limit : limits) {
    Encoder record;
    write_change(record, LimitChange{4, false, Instant::from_ns(77), limit});
    Collector found;
    ASSERT_TRUE(read_changes(record.view(), found));
    EXPECT_TRUE(found.limits.at(0).limit == limit) << limit.name();
    EXPECT_EQ(found.limits.at(0).changed_at, Instant::from_ns(77));
  }
}

TEST(Change, OfAHoldHasEveryField) {
  HoldRecord hold{
      .serial = 5,
      .state = HoldState::kCommitted,
      .expires_at = Instant::from_ns(50),
      .final_at = Instant::from_ns(40),
      .end = {.answer = {.amount = 16 * kAmountMax, .remaining = -7, .limit = 9}, .is_known = true, .is_of_all = true},
      .tag = "tag",
      .charges = {{.limit = "credits", .key = "alice", .generation = 2, .units = 3, .is_backed = false}}};
  const OperationRecord operation{.fingerprint = 17,
                                  .made_at = Instant::from_ns(30),
                                  .verdict = {.is_allowed = true, .violated = 1, .taken = 16 * kAmountMax},
                                  .hold = &hold};
  Encoder record;
  write_operation(record, "id", operation);
  Collector found;
  ASSERT_TRUE(read_changes(record.view(), found));
  const OperationChange& change = found.operations.at(0);
  EXPECT_EQ(change.id, "id");
  EXPECT_EQ(change.record.fingerprint, 17U);
  EXPECT_EQ(change.record.verdict, operation.verdict);
  ASSERT_TRUE(change.hold);
  EXPECT_EQ(change.hold->tag, "tag");
  EXPECT_EQ(change.hold->state, HoldState::kCommitted);
  EXPECT_EQ(change.hold->charges.at(0).units, 3);
  EXPECT_FALSE(change.hold->charges.at(0).is_backed);
  EXPECT_EQ(change.hold->end.answer, hold.end.answer);
  EXPECT_TRUE(change.hold->end.is_known);
  EXPECT_TRUE(change.hold->end.is_of_all);
}

// As records were written before the answer was kept.
TEST(Change, OfAHoldMayLackItsEnd) {
  HoldRecord hold;
  hold.state = HoldState::kCancelled;
  hold.charges.push_back({.limit = "credits", .key = "a"});
  Encoder record;
  write_operation(record, "id", {.hold = &hold});
  write_change(record, DropChange{9});
  Collector found;
  ASSERT_TRUE(read_changes(record.view(), found));
  EXPECT_EQ(found.operations.at(0).hold->state, HoldState::kCancelled);
  EXPECT_FALSE(found.operations.at(0).hold->end.is_known);
  EXPECT_EQ(found.drops.size(), 1U);
}

// A take with a key of nineteen bytes, and the header of its record, must stay below 64 bytes.
TEST(Change, OfATakeIsSmall) {
  Encoder record;
  write_change(record, MeterChange{.generation = 100, .key = "0123456789012345678", .state = kState});
  EXPECT_EQ(record.size(), 39U);
}

TEST(Change, CutAnywhereIsRefused) {
  Encoder record;
  write_change(record, meter_with_parts());
  for (std::size_t size = 1; size < record.size(); ++size) {
    Collector found;
    EXPECT_FALSE(read_changes(record.view().substr(0, size), found)) << size;
    EXPECT_TRUE(found.meters.empty()) << size;
  }
}

TEST(Change, OutOfItsBoundsIsRefused) {
  const std::string long_key(kKeyBytesMax + 1, 'k');
  const std::string long_state(sizeof(core::State) + 8, 's');
  const auto expect_refused = [](const Encoder& record, std::string_view what) {
    Collector found;
    const auto read = read_changes(record.view(), found);
    ASSERT_FALSE(read) << what;
    EXPECT_NE(read.error().message.find("cannot be read"), std::string::npos) << read.error().message;
  };
  Encoder record;
  write_change(record, MeterChange{.generation = 1, .key = long_key, .state = kState});
  expect_refused(record, "a long key");
  record.clear();
  write_change(record, MeterChange{.generation = 1, .key = "k", .state = long_state});
  expect_refused(record, "a long state");
  record.clear();
  write_change(record, LimitChange{1, true, {}, bucket("b").amount(0).per(1min)});
  expect_refused(record, "a limit of nothing");
  record.clear();
  record.byte(15);
  expect_refused(record, "an unknown kind");
}

}  // namespace
}  // namespace mete::engine
