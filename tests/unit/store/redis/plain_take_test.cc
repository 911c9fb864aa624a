#include "store/redis/plain_take.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <memory>
#include <string>

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<KnownLimit> known(const Limit& limit) { return KnownLimit::make(redefined({}, limit, 0)).value(); }

std::string doubles(std::initializer_list<double> numbers) {
  std::string text;
  for (const double number : numbers) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i) text += static_cast<char>(bits >> 8 * i & 0xff);
  }
  return text;
}

TEST(LongMetersTest, KnowsAMeterForAMoment) {
  LongMeters meters;
  const Instant now = Instant::from_unix_seconds(1'700'000'000);
  EXPECT_FALSE(meters.has("api", "alice", now));
  meters.note("api", "alice", now);
  EXPECT_TRUE(meters.has("api", "alice", now));
  EXPECT_TRUE(meters.has("api", "alice", now + 999ms));
  EXPECT_FALSE(meters.has("api", "alice", now + LongMeters::kKeptFor)) << "it may be plain again";
  EXPECT_FALSE(meters.has("api", "bob", now));
  EXPECT_FALSE(meters.has("sms", "alice", now));
}

TEST(PlainCallTest, TellsNamesChargesAndNumbers) {
  const auto api = known(bucket("api").amount(10).per(60s));
  const auto sms = known(bucket("sms").amount(2).per(1s).burst(4));
  PlainCall call;
  for (int use = 0; use < 2; ++use) {  // the second finds nothing of the first
    call.begin({kPlainEpochUs + 5, kPlainEpochUs + 8});
    call.add({.limit = *api, .key = "alice", .charge_us = 6'000'000});
    call.add({.limit = *sms, .key = "50%", .charge_us = 1'000'000});
    ASSERT_EQ(call.size(), 2U);
  }
  Batch batch;
  call.write(StoreScript::kCharge, batch);

  Batch expected;
  const std::string numbers = doubles({59, 89, 60e6, 540e6 - 9, 300e6, 10e6, 10e6 - 9, 20e6});
  const std::string_view words[] = {"mete:{alice}:api", "mete:{50%25}:sms", "60000000", "10000000", numbers};
  expected.add_script(words[0], script(StoreScript::kCharge), 2, words);
  EXPECT_EQ(batch.bytes(), expected.bytes());
  EXPECT_EQ(batch.command(0).slot, expected.command(0).slot);
}

TEST(CountCallTest, TellsTheWindowAndTheValueUpToItsNumber) {
  const auto mails = known(window("mails").amount(100).per(60s));
  const auto disk = known(stock("disk").amount(50));
  CountCall call(StoreScript::kCountEach);
  for (int use = 0; use < 2; ++use) {
    call.begin({7, 9}, 130'000'000);
    call.add(*mails, {"mails", "alice", 3});
    call.add(*disk, {"disk", "50%", 1});
    ASSERT_EQ(call.size(), 2U);
  }
  Batch batch;
  call.write(batch);

  Batch expected;
  const std::string numbers = doubles({7, 9, 3, 100, 120e6, 180e6, 1, 50, 0, 9007199254740992});
  const std::string rev = std::to_string(mails->entry().rev);
  const std::string head = "r" + rev + ":120000000:";
  const std::string stock_head = "r" + std::to_string(disk->entry().rev) + ":";
  const std::string_view words[] = {"mete:{alice}:mails", "mete:{50%25}:disk", numbers, head, stock_head};
  expected.add_script(words[0], script(StoreScript::kCountEach), 2, words);
  EXPECT_EQ(batch.bytes(), expected.bytes());
}

TEST(PlainAnswerTest, ReadsTimeAndValues) {
  PlainAnswer answer("15778368017 105 D2000123 - ? D35");
  EXPECT_FALSE(answer.is_denied());
  EXPECT_EQ(answer.now_us(), kPlainEpochUs + 1'000'007);
  const struct {
    bool is_plain;
    bool is_denied;
    std::uint64_t full_us;
  } rows[] = {
      {true, false, kPlainEpochUs + 10}, {true, true, kPlainEpochUs + 200'012}, {true, false, 0}, {false, false, 0},
      {true, true, kPlainEpochUs + 3},
  };
  for (const auto& row : rows) {
    const PlainAnswer::Value value = answer.next();
    EXPECT_EQ(value.is_plain, row.is_plain);
    EXPECT_EQ(value.is_denied, row.is_denied);
    EXPECT_EQ(value.full_us(), row.full_us);
  }
  PlainAnswer denied("D15778368000 15 -");
  EXPECT_TRUE(denied.is_denied());
  EXPECT_EQ(denied.now_us(), kPlainEpochUs);
  EXPECT_EQ(denied.next().full_us(), kPlainEpochUs + 1);
  EXPECT_EQ(denied.next().full_us(), 0U);
}

// Which charges charge.lua is asked for.
TEST(KnownLimitTest, PlainChargesAreWholeMicrosecondsThatFit) {
  const struct {
    Limit limit;
    Amount cost;
    std::optional<std::uint64_t> charge_us;
  } rows[] = {
      {bucket("b").amount(10).per(60s), 1, 6'000'000},
      {bucket("b").amount(10).per(60s), 10, 60'000'000},
      {bucket("b").amount(10).per(60s), 11, std::nullopt},
      {bucket("b").amount(10).per(60s), 0, std::nullopt},
      {bucket("b").amount(7).per(1s), 1, std::nullopt},
      {bucket("b").amount(7).per(1s), 7, 1'000'000},
      {bucket("b").amount(10).per(60s).shadow(), 1, std::nullopt},
      {window("w").amount(10).per(60s), 1, std::nullopt},
      {stock("s").amount(10), 1, std::nullopt},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(known(row.limit)->plain_charge_us(row.cost), row.charge_us) << row.limit.amount() << ", " << row.cost;
  }
}

}  // namespace
}  // namespace mete::store::redis
