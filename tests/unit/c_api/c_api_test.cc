// The C API as it is linked into a program, so that the sanitizers see it. What a stranger's program in C gets of it is
// in tests/integration/c_api_test.sh.
#include <gtest/gtest.h>
#include <mete/c.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace mete {
namespace {

mete_charge charge_of(std::string_view limit, std::string_view key, std::int64_t cost) {
  return {limit.data(), limit.size(), key.data(), key.size(), cost};
}

class CApi : public ::testing::Test {
 protected:
  CApi() {
    EXPECT_EQ(mete_open("embedded:", &limiter_), METE_OK);
    mete_limit limit = METE_LIMIT_INIT;
    limit.name = "credits";
    limit.kind = METE_STOCK;
    limit.amount = 50;
    EXPECT_EQ(mete_define(limiter_, &limit), METE_OK);
  }
  ~CApi() override { mete_close(limiter_); }

  mete_limiter* limiter() { return limiter_; }
  std::int64_t used() {
    const mete_charge meter = charge_of("credits", "alice", 0);
    mete_usage usage = METE_USAGE_INIT;
    EXPECT_EQ(mete_read_usage(limiter_, &meter, &usage), METE_OK);
    return usage.used;
  }

 private:
  mete_limiter* limiter_ = nullptr;
};

TEST_F(CApi, TakesGivesAndHolds) {
  mete_charge charge = charge_of("credits", "alice", 30);
  mete_decision decision = METE_DECISION_INIT;
  ASSERT_EQ(mete_take(limiter(), &charge, 1, nullptr, &decision), METE_OK);
  EXPECT_EQ(decision.allowed, 1);
  EXPECT_EQ(decision.remaining, 20);
  ASSERT_EQ(mete_peek(limiter(), &charge, 1, &decision), METE_OK);
  EXPECT_EQ(decision.allowed, 0);
  EXPECT_EQ(decision.violated, 1U);
  EXPECT_EQ(decision.retry_after_ns, METE_NEVER);
  mete_settlement settlement = METE_SETTLEMENT_INIT;
  charge.cost = 10;
  ASSERT_EQ(mete_give(limiter(), &charge, 1, nullptr, &settlement), METE_OK);
  EXPECT_EQ(settlement.amount, 10);

  std::array<char, METE_ID_BYTES> id = {};
  ASSERT_EQ(mete_hold(limiter(), &charge, 1, METE_SECOND, nullptr, &decision, id.data()), METE_OK);
  EXPECT_EQ(used(), 20) << "and ten are held";
  ASSERT_EQ(mete_extend(limiter(), id.data(), 2 * METE_SECOND), METE_OK);
  const std::int64_t amount = 4;
  ASSERT_EQ(mete_commit(limiter(), id.data(), &amount, 1, 0, &settlement), METE_OK);
  EXPECT_EQ(settlement.amount, 4);
  EXPECT_EQ(used(), 24);

  const std::string longest(METE_ID_BYTES - 1, 'i');
  mete_hold_options options = METE_HOLD_OPTIONS_INIT;
  options.id = longest.c_str();
  ASSERT_EQ(mete_hold(limiter(), &charge, 1, METE_SECOND, &options, nullptr, id.data()), METE_OK);
  EXPECT_EQ(id.data(), longest);
  ASSERT_EQ(mete_cancel(limiter(), id.data(), nullptr), METE_OK);
  EXPECT_EQ(used(), 24);
  int was_defined = 0;
  ASSERT_EQ(mete_drop(limiter(), "credits", &was_defined), METE_OK);
  EXPECT_EQ(was_defined, 1);
}

// The number is no enumerator, as a program in C may pass it.
template <class Enumeration>
void set_number(Enumeration& to, int number) {
  static_assert(sizeof to == sizeof number);
  std::memcpy(&to, &number, sizeof number);
}

TEST_F(CApi, ANumberThatIsNoEnumeratorIsRefused) {
  const mete_charge charge = charge_of("credits", "alice", 1);
  for (const int number : {4, 5, 7, 8, 99, -1}) {
    mete_take_options options = METE_TAKE_OPTIONS_INIT;
    set_number(options.mode, number);
    EXPECT_EQ(mete_take(limiter(), &charge, 1, &options, nullptr), METE_INVALID) << number;
    EXPECT_NE(std::string_view(mete_last_error()).find("mode"), std::string_view::npos);
    mete_limit limit = METE_LIMIT_INIT;
    limit.name = "other";
    limit.kind = METE_STOCK;
    limit.amount = 1;
    set_number(limit.durable, number);
    EXPECT_EQ(mete_define(limiter(), &limit), METE_INVALID) << number;
    limit.durable = METE_BY_KIND;
    set_number(limit.kind, number == 4 ? 5 : number);
    EXPECT_EQ(mete_define(limiter(), &limit), METE_INVALID) << number;
    limit.kind = METE_CALENDAR;
    set_number(limit.unit, number == 4 ? 5 : number);
    EXPECT_EQ(mete_define(limiter(), &limit), METE_INVALID) << number;
  }
  EXPECT_EQ(used(), 0);
}

TEST_F(CApi, NullIsRefusedWhereSomethingMustBe) {
  const mete_charge charge = charge_of("credits", "alice", 1);
  std::array<char, METE_ID_BYTES> id = {};
  EXPECT_EQ(mete_open("embedded:", nullptr), METE_INVALID);
  EXPECT_EQ(mete_define(limiter(), nullptr), METE_INVALID);
  EXPECT_EQ(mete_take(nullptr, &charge, 1, nullptr, nullptr), METE_INVALID);
  EXPECT_EQ(mete_take(limiter(), nullptr, 1, nullptr, nullptr), METE_INVALID);
  EXPECT_EQ(mete_take(limiter(), &charge, 0, nullptr, nullptr), METE_INVALID);
  EXPECT_EQ(mete_take(limiter(), &charge, 17, nullptr, nullptr), METE_INVALID);
  EXPECT_EQ(mete_hold(limiter(), &charge, 1, METE_SECOND, nullptr, nullptr, nullptr), METE_INVALID);
  EXPECT_EQ(mete_commit(limiter(), id.data(), nullptr, 1, 0, nullptr), METE_INVALID);
  mete_close(nullptr);
  EXPECT_EQ(used(), 0);
}

// A program that was compiled against an earlier mete/c.h has structures that end sooner: the rest is left alone.
TEST_F(CApi, AStructureThatEndsSoonerIsFilledUpToItsEnd) {
  const mete_charge charge = charge_of("credits", "alice", 1);
  constexpr std::size_t kShort = offsetof(mete_decision, limit);
  std::vector<char> room(kShort);  // on the heap: the address sanitizer sees its end
  auto* const decision = reinterpret_cast<mete_decision*>(room.data());
  std::memcpy(room.data(), &kShort, sizeof kShort);
  ASSERT_EQ(mete_take(limiter(), &charge, 1, nullptr, decision), METE_OK);
  std::int64_t remaining = 0;
  std::memcpy(&remaining, room.data() + offsetof(mete_decision, remaining), sizeof remaining);
  EXPECT_EQ(remaining, 49);
  const std::size_t none = 0;
  std::memcpy(room.data(), &none, sizeof none);
  EXPECT_EQ(mete_take(limiter(), &charge, 1, nullptr, decision), METE_INVALID);
  EXPECT_EQ(used(), 1) << "whoever is told of a mistake has not been charged";
}

TEST_F(CApi, ErrorsAreOfTheCallInThisThread) {
  const mete_charge charge = charge_of("none", "alice", 1);
  EXPECT_EQ(mete_take(limiter(), &charge, 1, nullptr, nullptr), METE_NO_LIMIT);
  EXPECT_EQ(std::string_view(mete_last_error()), "NOLIMIT unknown limit 'none'");
  EXPECT_EQ(mete_cancel(limiter(), "none", nullptr), METE_NO_HOLD);
}

}  // namespace
}  // namespace mete
