// Rule 14: whatever is outside its range is refused with an error that names it, and changes nothing.
#include <functional>
#include <span>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

constexpr Amount kBadCosts[] = {-1, -500, kAmountMax + 1, std::numeric_limits<Amount>::max(),
                                std::numeric_limits<Amount>::min()};

TEST_P(Conformance, Rule14_BadCostsAreRefused) {
  for (const Limit& limit : each_kind(100)) {
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    start_window(kHour);
    take(name, "a", 50);
    const std::string id = hold({name, "a", 10}, 30min);
    const Standing before = standing(name, "a");
    for (const Amount cost : kBadCosts) {
      SCOPED_TRACE(cost);
      for (const Mode mode : {Mode::kTake, Mode::kPeek, Mode::kUpTo, Mode::kForce}) {
        expect_error(limiter().take({{name, "a", cost}}, {.mode = mode}), ErrorCode::kInvalid, "cost");
      }
      expect_error(limiter().peek(name, "a", cost), ErrorCode::kInvalid, "cost");
      expect_error(limiter().take({{name, "a", 1}, {name, "a", cost}}), ErrorCode::kInvalid, "cost");
      expect_error(limiter().give(name, "a", cost), ErrorCode::kInvalid, "cost");
      expect_error(limiter().hold({{name, "a", cost}}, 1h), ErrorCode::kInvalid, "cost");
      expect_error(limiter().reconcile(name, "a", cost), ErrorCode::kInvalid, "amount");
      expect_error(limiter().commit(id, cost), ErrorCode::kInvalid, "amount");
      expect_error(limiter().commit_with_overage(id, {&cost, 1}), ErrorCode::kInvalid, "amount");
      expect_error(limiter().override_amount(name, "a", cost), ErrorCode::kInvalid, "amount");
    }
    expect_error(limiter().give(name, "a", 0), ErrorCode::kInvalid, "cost");
    expect_error(limiter().hold({{name, "a", 0}}, 1h), ErrorCode::kInvalid, "cost");
    expect_error(limiter().hold({{name, "a", 1}, {name, "a", 0}}, 1h), ErrorCode::kInvalid, "cost");
    EXPECT_EQ(standing(name, "a"), before);
    EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kHeld);
  }
}

TEST_P(Conformance, Rule14_BadDefinitionsAreRefused) {
  const std::string name = unique("limit");
  const struct {
    Limit limit;
    std::string_view word;
  } rows[] = {
      {stock(name), "amount"},
      {stock(name).amount(0), "amount"},
      {stock(name).amount(-5), "amount"},
      {stock(name).amount(kAmountMax + 1), "amount"},
      {bucket(name).amount(1).per(0s), "period"},
      {bucket(name).amount(1).per(-1s), "period"},
      {bucket(name).amount(1).per(999'999ns), "period"},
      {bucket(name).amount(1).per(kPeriodMax + Duration(1ns)), "period"},
      {window(name).amount(1).per(0s), "period"},
      {window(name).amount(1).per(24h * 365 * 300), "period"},
      {sliding(name).amount(1).per(0s), "period"},
      {sliding(name).amount(1), "period"},
      {window(name).amount(1), "period"},
      {bucket(name).amount(1), "period"},
      {calendar(name).amount(1), "period"},
      {stock(name).amount(1).per(1s), "period"},
      {calendar(name).amount(1).per(Unit::kDay).per(1s), "period"},
      {bucket(name).amount(1).per(1s).burst(0), "burst"},
      {bucket(name).amount(1).per(1s).burst(-1), "burst"},
      {bucket(name).amount(1).per(1s).burst(kAmountMax + 1), "burst"},
      {window(name).amount(1).per(1s).burst(1), "burst"},
      {stock(name).amount(1).per(Unit::kDay), "unit"},
      {bucket(name).amount(1).per(1s).zone("UTC"), "zone"},
      {stock(name).amount(1).anchor(1), "anchor"},
      {calendar(name).amount(1).per(Unit::kDay).zone("Mars/Olympus"), "zone"},
      {calendar(name).amount(1).per(Unit::kDay).zone("../../etc/passwd"), "zone"},
      {calendar(name).amount(1).per(Unit::kDay).zone(""), "zone"},
      {calendar(name).amount(1).per(Unit::kWeek).anchor(8), "anchor"},
      {calendar(name).amount(1).per(Unit::kWeek).anchor(-1), "anchor"},
      {calendar(name).amount(1).per(Unit::kMonth).anchor(32), "anchor"},
      {calendar(name).amount(1).per(Unit::kYear).anchor(month_day(13, 1)), "anchor"},
      {calendar(name).amount(1).per(Unit::kYear).anchor(month_day(2, 31)), "anchor"},
      {calendar(name).amount(1).per(Unit::kHour).anchor(5), "anchor"},
      {stock("").amount(1), "name"},
      {stock(std::string(kNameBytesMax + 1, 'n')).amount(1), "name"},
      {stock(name + "\n").amount(1), "name"},
      {stock(name + std::string(1, '\0')).amount(1), "name"},
      {stock(name + "\x7f").amount(1), "name"},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    SCOPED_TRACE("row " + std::to_string(i));
    expect_error(limiter().define(scoped(rows[i].limit)), ErrorCode::kInvalid, rows[i].word);
  }
  EXPECT_FALSE(limiter().find_limit(name).value().has_value()) << "nothing was defined";
}

class Edges : public Conformance {
 protected:
  // Each has all of its capacity, and no more.
  void expect_accepted(std::span<const Limit> limits) {
    for (std::size_t i = 0; i < limits.size(); ++i) {
      SCOPED_TRACE("row " + std::to_string(i));
      const std::string name = define(limits[i]);
      const Amount capacity = limits[i].burst().value_or(limits[i].amount());
      const Decision all = take(name, "a", capacity);
      EXPECT_TRUE(all.allowed());
      EXPECT_EQ(all.remaining, 0);
      EXPECT_EQ(usage(name, "a").used, capacity);
      EXPECT_FALSE(take(name, "a", capacity).allowed());
      limiter().drop(name).value();
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Store, Edges, ::testing::ValuesIn(stores()), store_name);

TEST_P(Edges, Rule14_TheEdgesAreAccepted) {
  const std::string name = unique("edge");
  const Limit limits[] = {
      stock(name).amount(1),
      stock(name).amount(kAmountMax),
      bucket(name).amount(kAmountMax).per(kPeriodMin).burst(kAmountMax),
      sliding(name).amount(kAmountMax).per(kPeriodMin),
      calendar(name).amount(kAmountMax).per(Unit::kYear).zone("Asia/Kathmandu").anchor(month_day(2, 29)),
      calendar(name).amount(1).per(Unit::kMonth).anchor(31),
      calendar(name).amount(1).per(Unit::kWeek).anchor(7),
  };
  expect_accepted(limits);
}

TEST_P(Edges, Rule14_TheLongestNamesAreAccepted) {
  const std::string longest =
      define(stock((unique("n") + std::string(kNameBytesMax, 'n')).substr(0, kNameBytesMax)).amount(9));
  EXPECT_TRUE(take(longest, std::string(kKeyBytesMax, 'k'), 9).allowed());
  EXPECT_FALSE(take(longest, std::string(kKeyBytesMax, 'k'), 1).allowed());
}

TEST_P(Edges, Rule14_TheLongestPeriodIsAccepted) {
  const std::string name = unique("edge");
  const Limit limits[] = {
      bucket(name).amount(1).per(kPeriodMax).burst(kAmountMax),
      window(name).amount(kAmountMax).per(kPeriodMax),
      sliding(name).amount(kAmountMax).per(kPeriodMax),
  };
  expect_accepted(limits);
}

TEST_P(Conformance, Rule14_BadNamesKeysIdsAndTagsAreRefused) {
  const std::string name = define(stock(unique("storage")).amount(10));
  const std::string long_key(kKeyBytesMax + 1, 'k');
  const std::string long_name(kNameBytesMax + 1, 'n');
  const std::string long_id(kIdBytesMax + 1, 'i');
  const std::string long_tag(kTagBytesMax + 1, 't');
  for (const std::string& key : {std::string(), long_key}) {
    expect_error(limiter().take(name, key), ErrorCode::kInvalid, "key");
    expect_error(limiter().take({{name, "a", 1}, {name, key, 1}}), ErrorCode::kInvalid, "key");
    expect_error(limiter().peek(name, key), ErrorCode::kInvalid, "key");
    expect_error(limiter().give(name, key), ErrorCode::kInvalid, "key");
    expect_error(limiter().hold({{name, key, 1}}, 1h), ErrorCode::kInvalid, "key");
    expect_error(limiter().usage(name, key), ErrorCode::kInvalid, "key");
    expect_error(limiter().reconcile(name, key, 1), ErrorCode::kInvalid, "key");
    expect_error(limiter().holds(name, key), ErrorCode::kInvalid, "key");
    expect_error(limiter().override_amount(name, key, 1), ErrorCode::kInvalid, "key");
    expect_error(limiter().clear_override(name, key), ErrorCode::kInvalid, "key");
  }
  for (const std::string& limit : {std::string(), long_name}) {
    expect_error(limiter().take(limit, "a"), ErrorCode::kInvalid, "name");
    expect_error(limiter().hold({{limit, "a", 1}}, 1h), ErrorCode::kInvalid, "name");
    expect_error(limiter().give(limit, "a"), ErrorCode::kInvalid, "name");
    expect_error(limiter().usage(limit, "a"), ErrorCode::kInvalid, "name");
    expect_error(limiter().reconcile(limit, "a", 1), ErrorCode::kInvalid, "name");
    expect_error(limiter().holds(limit, "a"), ErrorCode::kInvalid, "name");
    expect_error(limiter().scan(limit, 0), ErrorCode::kInvalid, "name");
    expect_error(limiter().top(limit, 1), ErrorCode::kInvalid, "name");
    expect_error(limiter().drop(limit), ErrorCode::kInvalid, "name");
    expect_error(limiter().find_limit(limit), ErrorCode::kInvalid, "name");
    expect_error(limiter().override_amount(limit, "a", 1), ErrorCode::kInvalid, "name");
  }
  expect_error(limiter().take({{name, "a", 1}}, {.id = long_id}), ErrorCode::kInvalid, "id");
  expect_error(limiter().give({{name, "a", 1}}, long_id), ErrorCode::kInvalid, "id");
  expect_error(limiter().hold({{name, "a", 1}}, 1h, {.id = long_id}), ErrorCode::kInvalid, "id");
  expect_error(limiter().hold({{name, "a", 1}}, 1h, {.tag = long_tag}), ErrorCode::kInvalid, "tag");
  expect_error(limiter().holds_tagged(long_tag), ErrorCode::kInvalid, "tag");
  for (const std::string& id : {std::string(), long_id}) {
    expect_error(limiter().commit(id), ErrorCode::kInvalid, "id");
    expect_error(limiter().cancel(id), ErrorCode::kInvalid, "id");
    expect_error(limiter().extend(id, 1h), ErrorCode::kInvalid, "id");
    expect_error(limiter().find_hold(id), ErrorCode::kInvalid, "id");
  }
  expect_error(limiter().take({{name, "a", 1}}, {.mode = Mode::kPeek, .id = "id"}), ErrorCode::kInvalid, "id");
  EXPECT_TRUE(limiter().top(name, 10).value().empty()) << "nothing was charged";
}

TEST_P(Conformance, Rule14_TooFewOrTooManyChargesAreRefused) {
  const std::string name = define(stock(unique("storage")).amount(100));
  const std::vector<Charge> many(17, {name, "a", 1});
  const std::vector<Charge> none;
  for (const std::vector<Charge>& charges : {none, many}) {
    expect_error(limiter().take(charges), ErrorCode::kInvalid, "charges");
    expect_error(limiter().peek(charges), ErrorCode::kInvalid, "charges");
    expect_error(limiter().give(charges), ErrorCode::kInvalid, "charges");
    expect_error(limiter().hold(charges, 1h), ErrorCode::kInvalid, "charges");
  }
  expect_error(limiter().take({{name, "a", 1}, {name, "b", 1}}, {.mode = Mode::kUpTo}), ErrorCode::kInvalid, "up_to");
  EXPECT_EQ(charged(name, "a"), 0);
}

TEST_P(Conformance, Rule14_BadTtlsAreRefused) {
  const std::string name = define(stock(unique("storage")).amount(100));
  const std::string id = hold({name, "a", 1}, 30min);
  for (const Duration ttl :
       {Duration(), Duration(-1ns), Duration(-1h), kHoldTtlMax + Duration(1ns), Duration::never()}) {
    expect_error(limiter().hold({{name, "a", 1}}, ttl), ErrorCode::kInvalid, "ttl");
    expect_error(limiter().extend(id, ttl), ErrorCode::kInvalid, "ttl");
  }
  EXPECT_EQ(limiter().find_hold(id).value()->expires_in.ns(), Duration(30min).ns());
  EXPECT_EQ(charged(name, "a"), 1);
}

TEST_P(Conformance, Rule14_NothingOverflows) {
  for (const Limit& limit : each_kind(kAmountMax)) {
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    start_window(kHour);
    take(name, "a", kAmountMax - 10);
    hold({name, "a", 5}, 30min);
    EXPECT_FALSE(take(name, "a", kAmountMax).allowed());
    EXPECT_FALSE(limiter().take(std::vector<Charge>(16, {name, "a", kAmountMax})).value().allowed());
    EXPECT_FALSE(limiter().hold({{name, "a", 6}}, 1h).value().allowed());
    EXPECT_TRUE(take(name, "a", 5).allowed());
    expect_error(limiter().take({{name, "a", 1}}, {.mode = Mode::kForce}), ErrorCode::kInvalid, name);
    expect_error(limiter().reconcile(name, "a", kAmountMax - 4), ErrorCode::kInvalid, name);
    EXPECT_EQ(usage(name, "a").used, kAmountMax - 5);
    EXPECT_EQ(usage(name, "a").held, 5);
    EXPECT_EQ(limiter().reconcile(name, "a", kAmountMax - 5).value().used_now, kAmountMax - 5);
    EXPECT_EQ(usage(name, "a").remaining, 0);
  }
}

}  // namespace
}  // namespace mete::conformance
