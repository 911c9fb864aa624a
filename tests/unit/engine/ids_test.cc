// Operation ids: how long they are remembered, and how many.
#include "unit/engine/engine_fixture.h"

namespace mete::engine {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(Ids, AreRememberedForTheirRetention) {
  Subject subject{{.id_retention = 10min}};
  subject.engine.define(stock("credits").amount(100), subject.now).value();
  EXPECT_EQ(subject.try_take("credits", "a", 5, "id").value().remaining, 95);
  subject.take("credits", "a", 5);
  subject.now = kStart + 10min + Duration(-1ns);
  subject.sweep_all();
  EXPECT_EQ(subject.try_take("credits", "a", 5, "id").value().remaining, 95);
  subject.now = kStart + 10min;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().ids, 0U);
  EXPECT_EQ(subject.try_take("credits", "a", 5, "id").value().remaining, 85) << "forgotten: a new operation";
}

TEST(Ids, AreBounded) {
  Subject subject{{.ids_max = 7}};  // too few for shares
  subject.engine.define(stock("credits").amount(1000), subject.now).value();
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(subject.try_take("credits", "a", 1, key_of(i)).value().taken, 1);
  const Charge charge{"credits", "a", 1};
  const Error errors[] = {
      subject.try_take("credits", "a", 1, "one more").error(),
      subject.engine.give({&charge, 1}, "one more", subject.now).error(),
      subject.try_hold(charge, 1h, "one more").error(),
  };
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, ErrorCode::kOutOfMemory);
    EXPECT_NE(error.message.find("ids_max"), std::string::npos) << error.message;
  }
  EXPECT_EQ(subject.usage("credits", "a").used, 7) << "refused, and nothing changed";
  EXPECT_EQ(subject.try_take("credits", "a", 1, key_of(4)).value().remaining, 995) << "known ids are answered";
  EXPECT_EQ(subject.take("credits", "a", 1), 1) << "and none is needed";
  subject.now = subject.now + 24h;
  EXPECT_EQ(subject.try_take("credits", "a", 1, "one more").value().taken, 1) << "old ones make room";
}

// Whoever spends the ids of one limit leaves half of the last eighth to the others, and each of these likewise.
TEST(Ids, OneLimitCannotSpendThemAll) {
  Subject subject{{.ids_max = 800}};
  for (const char* const limit : {"greedy", "second", "third"}) {
    subject.engine.define(stock(limit).amount(10'000), subject.now).value();
  }
  std::size_t next = 0;
  const auto spend = [&](const char* limit) {
    std::size_t count = 0;
    for (; count < 800 && subject.try_hold({limit, "a", 1}, 1h, key_of(next)).has_value(); ++count) ++next;
    return count;
  };
  EXPECT_EQ(spend("greedy"), 700U);
  const auto refused = subject.try_take("greedy", "a", 1, "one more");
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(refused.error().message.find("share"), std::string::npos) << refused.error().message;
  EXPECT_EQ(subject.take("greedy", "a", 1), 1) << "without an id it goes on";
  EXPECT_EQ(spend("second"), 34U) << "then it has half of the 66 that are left";
  EXPECT_EQ(spend("third"), 22U);
  EXPECT_EQ(subject.try_take("second", "a", 1, "one more").error().code, ErrorCode::kOutOfMemory);
  subject.now = subject.now + 26h;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().ids, 0U);
  EXPECT_EQ(spend("second"), 700U) << "the shares are empty again";
}

// Ids of finished holds go first: their retention is shorter while ids are scarce.
TEST(Ids, FinishedHoldsMakeRoomWhereIdsAreScarce) {
  Subject subject{{.id_retention = 24h, .ids_max = 80}};
  subject.engine.define(stock("credits").amount(1000), subject.now).value();
  for (std::size_t i = 0; i < 70; ++i) subject.try_hold({"credits", "a", 1}, 48h, key_of(i)).value();
  for (std::size_t i = 0; i < 10; ++i) subject.engine.commit({.id = key_of(i)}, subject.now).value();
  subject.now = kStart + 59min;
  subject.sweep_all();
  EXPECT_EQ(subject.try_hold({"credits", "a", 1}, 1h, "new").error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject.engine.commit({.id = key_of(0)}, subject.now).value().amount, 1) << "and is told again";
  subject.now = kStart + 1h;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().ids, 69U) << "no more of them than is needed";
  EXPECT_EQ(subject.statistics().open_holds, 60U) << "and none that is open";
  EXPECT_TRUE(subject.try_hold({"credits", "a", 1}, 1h, "new").value().is_allowed);
}

TEST(Ids, FinishedHoldsAreRememberedFromTheirEnd) {
  Subject subject{{.id_retention = 1h}};
  subject.engine.define(stock("credits").amount(1000), subject.now).value();
  const Charge charge{"credits", "a", 10};
  subject.try_hold(charge, 5h, "hold").value();
  subject.now = kStart + 4h;
  subject.sweep_all();
  EXPECT_EQ(subject.engine.commit({.id = "hold"}, subject.now).value().amount, 10) << "an open hold is not forgotten";
  subject.now = kStart + 5h + Duration(-1ns);
  subject.sweep_all();
  ASSERT_TRUE(subject.engine.find_hold("hold", subject.now).has_value());
  EXPECT_EQ(subject.engine.find_hold("hold", subject.now)->state, HoldState::kCommitted);
  EXPECT_TRUE(subject.try_hold(charge, 5h, "hold").value().is_allowed);
  EXPECT_EQ(subject.usage("credits", "a").held, 0) << "an answer, not a hold";
  subject.now = kStart + 5h;
  subject.sweep_all();
  EXPECT_FALSE(subject.engine.find_hold("hold", subject.now).has_value());
}

TEST(Ids, ADeniedHoldUnderARandomIdIsNotRemembered) {
  Subject subject;
  subject.engine.define(stock("credits").amount(5), subject.now).value();
  const Charge charge{"credits", "a", 10};
  const Hold request{.charges = {&charge, 1}, .ttl = 1h, .id = "random", .is_id_random = true};
  EXPECT_FALSE(subject.engine.hold(request, subject.now).value().is_allowed);
  EXPECT_EQ(subject.statistics().ids, 0U);
  EXPECT_FALSE(subject.try_hold(charge, 1h, "chosen").value().is_allowed);
  EXPECT_EQ(subject.statistics().ids, 1U);
}

TEST(Ids, AHoldsPartIsForgottenWithItsMeterOnDrop) {
  Subject subject;
  subject.engine.define(stock("credits").amount(100), subject.now).value();
  subject.try_hold({"credits", "a", 10}, 1h, "hold", "tag").value();
  EXPECT_TRUE(subject.engine.drop("credits"));
  EXPECT_FALSE(subject.engine.drop("credits"));
  EXPECT_EQ(subject.statistics().meters, 0U);
  EXPECT_EQ(subject.engine.holds_tagged("tag", subject.now), std::vector<std::string>{"hold"});
  EXPECT_EQ(subject.engine.commit({.id = "hold"}, subject.now).value().limit, 0) << "nothing is left to tell of";
  subject.now = subject.now + 25h;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().ids, 0U);
  EXPECT_EQ(subject.statistics().open_holds, 0U);
}

TEST(Ids, TheEngineCountsWhatItHas) {
  Subject subject;
  subject.engine.define(stock("credits").amount(100), subject.now).value();
  subject.engine.define(window("api").amount(100).per(1s), subject.now).value();
  subject.take("credits", "a");
  subject.take("api", "a");
  subject.try_hold({"credits", "b", 1}, 1h, "hold").value();
  subject.engine.set_override({"api", "b", 0}, 5, subject.now).value();
  const Statistics now = subject.statistics();
  EXPECT_EQ(now.rules, 3U);
  EXPECT_EQ(now.meters, 3U);
  EXPECT_EQ(now.overrides, 1U);
  EXPECT_EQ(now.ids, 1U);
  EXPECT_EQ(now.open_holds, 1U);
  EXPECT_GT(now.memory_bytes, 0U);
  EXPECT_EQ(subject.engine.limits(), (std::vector<std::string>{"api", "credits"}));
}

}  // namespace
}  // namespace mete::engine
