// Bad input: each refusal names its field; everything on the edge is accepted.
#include "core/validate.h"

#include <gtest/gtest.h>

#include <vector>

namespace mete {
namespace {

using namespace std::chrono_literals;
using core::CostRange;

constexpr Amount kInt64Max = std::numeric_limits<Amount>::max();
constexpr Amount kInt64Min = std::numeric_limits<Amount>::min();

void expect_refused(const Result<void>& result, std::string_view field) {
  ASSERT_FALSE(result.has_value()) << "accepted, although " << field << " is wrong";
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  EXPECT_NE(result.error().message.find(field), std::string::npos) << result.error().message;
}

TEST(ValidateLimit, AcceptsEveryKindUpToItsEdges) {
  const Limit limits[] = {
      bucket("api").amount(100).per(1min),
      bucket("api").amount(100).per(1min).burst(1),
      bucket("api").amount(1).per(kPeriodMax).burst(kAmountMax).shadow(),
      window("w").amount(kAmountMax).per(kPeriodMin),
      sliding("s").amount(1).per(1h),
      calendar("c").amount(20).per(Unit::kMonth),
      calendar("c").amount(20).per(Unit::kYear).zone("Europe/Berlin").anchor(month_day(4, 6)),
      stock(std::string(kNameBytesMax, 'n')).amount(5),
      stock("größe / späti:1").amount(5),
  };
  for (const Limit& limit : limits) {
    const auto result = core::validate_limit(limit);
    EXPECT_TRUE(result.has_value()) << limit.name() << ": " << result.error().message;
  }
}

TEST(ValidateLimit, NamesWhatIsWrong) {
  const struct {
    Limit limit;
    std::string_view field;
  } rows[] = {
      {stock("").amount(1), "name"},
      {stock(std::string(kNameBytesMax + 1, 'n')).amount(1), "name"},
      {stock("two\nlines").amount(1), "name"},
      {stock(std::string("nul\0", 4)).amount(1), "name"},
      {stock("del\x7f").amount(1), "name"},
      {stock("tab\t").amount(1), "name"},
      {stock("TAG").amount(1), "HOLDS TAG"},
      {stock("tAg").amount(1), "HOLDS TAG"},
      {stock("s"), "amount"},
      {stock("s").amount(0), "amount"},
      {stock("s").amount(-1), "amount"},
      {stock("s").amount(kAmountMax + 1), "amount"},
      {stock("s").amount(kInt64Min), "amount"},
      {bucket("b").amount(1), "period"},
      {window("w").amount(1), "period"},
      {sliding("s").amount(1), "period"},
      {calendar("c").amount(1), "period"},
      {bucket("b").amount(1).per(0s), "period"},
      {bucket("b").amount(1).per(-1s), "period"},
      {bucket("b").amount(1).per(999'999ns), "period"},
      {window("w").amount(1).per(kPeriodMax + Duration(1ns)), "period"},
      {window("w").amount(1).per(Duration::never()), "period"},
      {bucket("b").amount(1).per(1s).burst(0), "burst"},
      {bucket("b").amount(1).per(1s).burst(-5), "burst"},
      {bucket("b").amount(1).per(1s).burst(kAmountMax + 1), "burst"},
      {window("w").amount(1).per(1s).burst(5), "burst"},
      {stock("s").amount(1).per(1s), "period"},
      {calendar("c").amount(1).per(Unit::kDay).per(1s), "period"},
      {bucket("b").amount(1).per(1s).per(Unit::kDay), "unit"},
      {stock("s").amount(1).per(Unit::kDay), "unit"},
      {sliding("s").amount(1).per(1s).zone("UTC"), "zone"},
      {stock("s").amount(1).anchor(1), "anchor"},
  };
  for (const auto& row : rows) expect_refused(core::validate_limit(row.limit), row.field);
}

TEST(ValidateCharges, AcceptsOneToSixteen) {
  const std::vector<Charge> charges(kChargesMax, Charge{"api", "alice", kAmountMax});
  EXPECT_TRUE(core::validate_charges(charges, CostRange::kFromOne).has_value());
  const Charge free[] = {{"api", "alice", 0}};
  EXPECT_TRUE(core::validate_charges(free, CostRange::kFromZero).has_value());
  const std::string long_key(kKeyBytesMax, 'k');
  const Charge any_bytes[] = {{"api", long_key, 1}, {"api", std::string_view("\0\xff\n", 3), 1}};
  EXPECT_TRUE(core::validate_charges(any_bytes, CostRange::kFromOne).has_value());
}

TEST(ValidateCharges, NamesWhatIsWrong) {
  const std::string long_key(kKeyBytesMax + 1, 'k');
  const std::string long_name(kNameBytesMax + 1, 'n');
  const struct {
    Charge charge;
    CostRange costs;
    std::string_view field;
  } rows[] = {
      {{"", "alice", 1}, CostRange::kFromZero, "name"},
      {{long_name, "alice", 1}, CostRange::kFromZero, "name"},
      {{"api", "", 1}, CostRange::kFromZero, "key"},
      {{"api", long_key, 1}, CostRange::kFromZero, "key"},
      {{"api", "alice", -1}, CostRange::kFromZero, "cost"},
      {{"api", "alice", 0}, CostRange::kFromOne, "cost"},
      {{"api", "alice", kAmountMax + 1}, CostRange::kFromZero, "cost"},
      {{"api", "alice", kInt64Max}, CostRange::kFromOne, "cost"},
      {{"api", "alice", kInt64Min}, CostRange::kFromOne, "cost"},
  };
  for (const auto& row : rows) {
    const Charge behind_a_good_one[] = {{"good", "good", 1}, row.charge};
    expect_refused(core::validate_charges(behind_a_good_one, row.costs), row.field);
    expect_refused(core::validate_charges(std::span(&row.charge, 1), row.costs), row.field);
  }
  expect_refused(core::validate_charges({}, CostRange::kFromZero), "charges");
  const std::vector<Charge> many(kChargesMax + 1, Charge{"api", "alice", 1});
  expect_refused(core::validate_charges(many, CostRange::kFromZero), "charges");
}

TEST(ValidateMode, UpToTakesOneChargeAndPeekNoId) {
  const Charge charges[] = {{"a", "k", 1}, {"b", "k", 1}};
  expect_refused(core::validate_mode(charges, Mode::kUpTo, ""), "mode");
  expect_refused(core::validate_mode(charges, Mode::kPeek, "x"), "id");
  expect_refused(core::validate_mode(charges, Mode::kTake, std::string(kIdBytesMax + 1, 'i')), "id");
  EXPECT_TRUE(core::validate_mode(std::span(charges, 1), Mode::kUpTo, "x").has_value());
  for (const Mode mode : {Mode::kTake, Mode::kPeek, Mode::kForce}) {
    EXPECT_TRUE(core::validate_mode(charges, mode, "").has_value());
  }
}

TEST(ValidateRest, IdTagTtlAndUsage) {
  EXPECT_TRUE(core::validate_id("").has_value());
  EXPECT_TRUE(core::validate_id(std::string(kIdBytesMax, 'i')).has_value());
  expect_refused(core::validate_id(std::string(kIdBytesMax + 1, 'i')), "id");
  expect_refused(core::validate_hold_id(""), "id");
  expect_refused(core::validate_hold_id(std::string(kIdBytesMax + 1, 'i')), "id");
  EXPECT_TRUE(core::validate_tag("").has_value());
  EXPECT_TRUE(core::validate_tag(std::string(kTagBytesMax, 't')).has_value());
  expect_refused(core::validate_tag(std::string(kTagBytesMax + 1, 't')), "tag");
  EXPECT_TRUE(core::validate_ttl(1ns).has_value());
  EXPECT_TRUE(core::validate_ttl(kHoldTtlMax).has_value());
  for (const Duration ttl : {Duration(), Duration(-1ns), kHoldTtlMax + Duration(1ns), Duration::never()}) {
    expect_refused(core::validate_ttl(ttl), "ttl");
  }
  EXPECT_TRUE(core::validate_used(0).has_value());
  EXPECT_TRUE(core::validate_used(kAmountMax).has_value());
  expect_refused(core::validate_used(-1), "amount");
  expect_refused(core::validate_used(kAmountMax + 1), "amount");
}

TEST(Names, EveryEnumeratorHasOne) {
  EXPECT_EQ(to_string(Kind::kBucket), "bucket");
  EXPECT_EQ(to_string(Kind::kWindow), "window");
  EXPECT_EQ(to_string(Kind::kSliding), "sliding");
  EXPECT_EQ(to_string(Kind::kCalendar), "calendar");
  EXPECT_EQ(to_string(Kind::kStock), "stock");
  EXPECT_EQ(to_string(Unit::kHour), "hour");
  EXPECT_EQ(to_string(Unit::kYear), "year");
  EXPECT_EQ(to_string(HoldState::kHeld), "held");
  EXPECT_EQ(to_string(HoldState::kExpired), "expired");
}

}  // namespace
}  // namespace mete
