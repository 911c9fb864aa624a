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
  Subject subject{{.ids_max = 100}};
  subject.engine.define(stock("credits").amount(1000), subject.now).value();
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(subject.try_take("credits", "a", 1, key_of(i)).value().taken, 1);
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
  EXPECT_EQ(subject.usage("credits", "a").used, 100) << "refused, and nothing changed";
  EXPECT_EQ(subject.try_take("credits", "a", 1, key_of(7)).value().remaining, 992) << "known ids are answered";
  EXPECT_EQ(subject.take("credits", "a", 1), 1) << "and none is needed";
  subject.now = subject.now + 24h;
  EXPECT_EQ(subject.try_take("credits", "a", 1, "one more").value().taken, 1) << "old ones make room";
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
