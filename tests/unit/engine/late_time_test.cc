// Threads overtake each other: an operation may come with a time that is older than one the meter has already seen.
// Nothing may be admitted or settled for it that time has already ended.
#include "unit/engine/engine_fixture.h"

namespace mete::engine {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class LateTime : public ::testing::Test {
 protected:
  // A hold whose part another operation has seen expire; then it is a second earlier again.
  LateTime() {
    subject_.engine.define(stock("credits").amount(10), subject_.now).value();
    EXPECT_TRUE(subject_.try_hold({"credits", "a", 10}, 10s, "hold").value().is_allowed);
    subject_.now = kStart + 10s;
    EXPECT_EQ(subject_.take("credits", "a", 10), 10) << "the hold has made room";
    subject_.now = kStart + 9s;
  }

  Subject subject_;
};

TEST_F(LateTime, AnExpiredHoldIsNotCommitted) {
  const auto committed = subject_.engine.commit({.id = "hold"}, subject_.now);
  ASSERT_FALSE(committed.has_value()) << "its units were given to somebody else";
  EXPECT_EQ(committed.error().code, ErrorCode::kExpired);
  EXPECT_EQ(subject_.usage("credits", "a").used, 10);
}

TEST_F(LateTime, AnExpiredHoldIsNotCancelled) {
  const auto cancelled = subject_.engine.cancel("hold", subject_.now);
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kExpired);
  EXPECT_EQ(subject_.usage("credits", "a").used, 10);
}

TEST_F(LateTime, AnExpiredHoldIsNotExtended) {
  const auto extended = subject_.engine.extend("hold", 1h, subject_.now);
  ASSERT_FALSE(extended.has_value());
  EXPECT_EQ(extended.error().code, ErrorCode::kExpired);
  EXPECT_EQ(subject_.usage("credits", "a").held, 0);
}

TEST_F(LateTime, AnExpiredHoldIsFoundExpired) {
  EXPECT_EQ(subject_.engine.find_hold("hold", subject_.now)->state, HoldState::kExpired);
}

TEST(LateTimes, ARedefinitionLetsHoldsExpire) {
  Subject subject;
  subject.engine.define(stock("credits").amount(10), subject.now).value();
  EXPECT_TRUE(subject.try_hold({"credits", "a", 10}, 10s, "hold").value().is_allowed);
  subject.engine.define(window("credits").amount(10).per(1h), kStart + 10s).value();
  subject.now = kStart + 9s;
  const auto committed = subject.engine.commit({.id = "hold"}, subject.now);
  ASSERT_FALSE(committed.has_value());
  EXPECT_EQ(committed.error().code, ErrorCode::kExpired);
  EXPECT_EQ(subject.usage("credits", "a").used, 0);
}

TEST(LateTimes, AMeterDoesNotGoBack) {
  const Limit limits[] = {bucket("api").amount(10).per(10s), window("api").amount(10).per(10s),
                          sliding("api").amount(10).per(10s)};
  for (const Limit& limit : limits) {
    SCOPED_TRACE(to_string(limit.kind()));
    Subject subject;
    subject.engine.define(limit, subject.now).value();
    subject.now = kStart + 10s;
    EXPECT_EQ(subject.take("api", "a", 10), 10);
    subject.now = kStart + 9s;
    EXPECT_EQ(subject.take("api", "a", 1), 0);
    subject.now = kStart + 10s;
    EXPECT_EQ(subject.take("api", "a", 1), 0);
  }
}

}  // namespace
}  // namespace mete::engine
