// Servers that share a store, which is wiped, or restored from a copy: all of them notice, and a restart hides nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "unit/store/watched_fixture.h"

namespace mete::store {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class LostStateTest : public ::testing::Test {
 protected:
  LostStateTest() { define(); }

  void define() {
    shared_.define(bucket("api").amount(10).per(60s)).value();
    shared_.define(stock("disk").amount(10)).value();
  }
  void define_again_after_loss(WatchingServer& server) {
    server.watched->on_loss([this]() -> Result<void> {
      define();
      return {};
    });
  }
  // Some seconds in which every server that is given looks each second, one after the other.
  void pass(int seconds, std::initializer_list<WatchingServer*> servers) {
    for (int second = 0; second < seconds; ++second) {
      clock_.advance(1s);
      for (WatchingServer* server : servers) server->watched->look();
    }
  }

  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  CopiedStore shared_{Options{.clock = &clock_}};
};

// In each order, and at each distance of their starts and looks.
TEST_F(LostStateTest, EveryServerNoticesARestore) {
  for (const int later : {0, 5, 9}) {
    WatchingServer first(shared_, clock_);
    pass(later, {&first});
    WatchingServer second(shared_, clock_);
    pass(20, {&first, &second});
    const auto copy = shared_.copy();
    pass(80, {&first, &second});
    EXPECT_FALSE(first.has_noticed());
    EXPECT_FALSE(second.has_noticed());
    shared_.restore(copy);
    pass(2, {&first, &second});
    EXPECT_TRUE(first.has_noticed());
    EXPECT_TRUE(second.has_noticed());
    EXPECT_TRUE(first.refuses("disk"));
    EXPECT_TRUE(second.refuses("disk"));
    pass(30, {&second, &first});
    EXPECT_FALSE(first.has_noticed()) << "once is enough";
    EXPECT_FALSE(second.has_noticed()) << "once is enough";
    second.watched->set_when_wiped(WhenWiped::kFresh);
    second.watched->look();
  }
}

// As of a failover to a copy that was a little behind.
TEST_F(LostStateTest, AMomentIsNoLoss) {
  WatchingServer server(shared_, clock_);
  pass(100, {&server});
  const auto copy = shared_.copy();
  pass(50, {&server});
  shared_.restore(copy);
  pass(30, {&server});
  EXPECT_FALSE(server.has_noticed());
}

TEST_F(LostStateTest, AServerThatStartsHidesNoRestore) {
  WatchingServer running(shared_, clock_);
  pass(20, {&running});
  const auto copy = shared_.copy();
  pass(80, {&running});
  shared_.restore(copy);
  WatchingServer starting(shared_, clock_);
  pass(12, {&starting, &running});
  EXPECT_TRUE(running.has_noticed());
  EXPECT_TRUE(starting.has_noticed());
  EXPECT_TRUE(starting.refuses("disk"));
}

TEST_F(LostStateTest, ACopyFromBeforeAServersStartIsNoticedByIt) {
  const auto copy = [&] {
    WatchingServer before(shared_, clock_);
    return shared_.copy();
  }();
  clock_.advance(20s);
  WatchingServer running(shared_, clock_);
  pass(80, {&running});
  shared_.restore(copy);
  pass(12, {&running});
  EXPECT_TRUE(running.has_noticed());
}

TEST_F(LostStateTest, AServerThatStartsOnAWipedStoreIsClosedAsTheOthers) {
  WatchingServer running(shared_, clock_);
  define_again_after_loss(running);
  pass(20, {&running});
  shared_.wipe();
  WatchingServer starting(shared_, clock_);
  pass(2, {&running, &starting});
  EXPECT_TRUE(running.refuses("disk"));
  EXPECT_TRUE(starting.refuses("disk"));
}

TEST_F(LostStateTest, ALossOutlivesARestart) {
  WatchingServer first(shared_, clock_);
  WatchingServer second(shared_, clock_);
  define_again_after_loss(first);
  define_again_after_loss(second);
  pass(20, {&first, &second});
  shared_.wipe();
  pass(2, {&first, &second});
  ASSERT_TRUE(first.refuses("disk"));
  first.start();
  WatchingServer third(shared_, clock_);
  for (WatchingServer* each : {&first, &second, &third}) {
    EXPECT_TRUE(each->refuses("disk"));
    EXPECT_TRUE(each->refuses("api"));
  }
  pass(60, {&first, &second, &third});
  for (WatchingServer* each : {&first, &second, &third}) {
    EXPECT_TRUE(each->refuses("disk"));
    EXPECT_TRUE(each->take("api").has_value());
  }
  third.watched->set_when_wiped(WhenWiped::kFresh);
  pass(2, {&first, &second, &third});
  for (WatchingServer* each : {&first, &second, &third}) EXPECT_TRUE(each->take("disk").has_value());
  first.start();
  EXPECT_TRUE(first.take("disk").has_value());
}

// Neither the file nor the wiped store knows of it any more.
TEST_F(LostStateTest, ALimitThatIsInNoFileKeepsTheServerClosed) {
  shared_.define(window("mine").amount(10).per(1h)).value();
  shared_.drop("disk").value();
  WatchingServer server(shared_, clock_);
  server.watched->on_loss([this]() -> Result<void> { return shared_.define(bucket("api").amount(10).per(60s)); });
  pass(20, {&server});
  ASSERT_TRUE(server.watched->limit("mine").value().has_value());  // as whoever decides by it looks for it
  shared_.wipe();
  pass(2, {&server});
  EXPECT_TRUE(server.refuses("api"));
  shared_.define(window("mine").amount(10).per(1h)).value();
  EXPECT_TRUE(server.refuses("mine"));
  pass(61, {&server});
  EXPECT_TRUE(server.take("api").has_value());
  EXPECT_TRUE(server.refuses("mine"));
  server.start();
  EXPECT_TRUE(server.refuses("mine")) << "nor does a restart open it";
  pass(3600, {&server});
  EXPECT_TRUE(server.take("mine").has_value());
  EXPECT_THAT(server.log.read(), HasSubstr("nothing is refused any more"));
  server.start();
  shared_.define(stock("disk").amount(10)).value();
  EXPECT_TRUE(server.take("disk").has_value()) << "it was made after that";
}

TEST_F(LostStateTest, ALimitThatWasDroppedKeepsNobodyWaiting) {
  WatchingServer server(shared_, clock_);
  ASSERT_TRUE(server.watched->limit("disk").value().has_value());
  ASSERT_TRUE(server.watched->drop("disk").value());
  shared_.define(stock("other").amount(1)).value();
  ASSERT_TRUE(server.watched->limit("other").value().has_value());
  shared_.drop("other").value();  // by somebody else
  EXPECT_FALSE(server.watched->limit("other").value().has_value());
  server.watched->on_loss([this]() -> Result<void> { return shared_.define(bucket("api").amount(10).per(60s)); });
  pass(20, {&server});
  shared_.wipe();
  pass(2, {&server});
  ASSERT_TRUE(server.refuses("api"));
  pass(60, {&server});
  EXPECT_THAT(server.log.read(), HasSubstr("nothing is refused any more"));
}

TEST_F(LostStateTest, OfTakesThatComeTogetherEachIsRefusedForItself) {
  shared_.define(window("fast").amount(100).per(1s)).value();
  WatchingServer server(shared_, clock_);
  server.watched->on_loss([this]() -> Result<void> {
    define();
    return shared_.define(window("fast").amount(100).per(1s));
  });
  pass(20, {&server});
  shared_.wipe();
  pass(5, {&server});
  const Charge charges[] = {{"fast", "a"},    {"disk", "a"}, {"fast", "b"},
                            {"nothing", "a"}, {"disk", "b"}, {"fast", "a"}};
  std::array<Result<core::Verdict>, 6> answers;
  server.watched->take_each(charges, answers);
  for (const std::size_t fits : {0U, 2U, 5U}) ASSERT_TRUE(answers[fits].has_value()) << fits;
  EXPECT_EQ(answers[0]->remaining, 99);
  EXPECT_EQ(answers[5]->remaining, 98);
  EXPECT_EQ(answers[3].error().code, ErrorCode::kNoLimit);
  for (const std::size_t refused : {1U, 4U}) {
    ASSERT_FALSE(answers[refused].has_value());
    EXPECT_EQ(answers[refused].error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(answers[refused].error().message, HasSubstr("'disk'"));
  }
}

// They carry their rules with them, and quotas keep theirs as well.
TEST_F(LostStateTest, QuotasAndThrottlesAreRefusedAsLongAsTheirLostOnesWouldHaveCounted) {
  WatchingServer server(shared_, clock_);
  shared_.drop("disk").value();
  server.watched->on_loss([this]() -> Result<void> { return shared_.define(bucket("api").amount(10).per(60s)); });
  pass(20, {&server});
  const core::ThrottleRequest slow{.capacity = 20, .count = 10, .period = 60s};
  const core::ThrottleRequest fast{.capacity = 2, .count = 1, .period = 1s};
  const core::QuotaRule hourly{.amount = 5, .window = 1h};
  const auto throttle = [&](const core::ThrottleRequest& request) {
    return server.watched->run(core::Throttle{.key = "t", .request = request});
  };
  const auto take_quota = [&](Duration window) {
    return server.watched->run(core::TakeQuota{.key = "q", .rule = {.amount = 5, .window = window}});
  };
  const auto add = [&](std::string_view key) { return server.watched->run(core::AddToCounter{.key = key}); };
  ASSERT_TRUE(throttle(slow).has_value());
  ASSERT_TRUE(take_quota(1h).has_value());
  shared_.wipe();
  shared_.run(core::Clear()).value();
  pass(5, {&server});

  EXPECT_TRUE(throttle(fast).has_value());
  EXPECT_THAT(throttle(slow).error().message, HasSubstr("'t' is refused for another"));
  EXPECT_EQ(take_quota(1h).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(*add("hits"), 1) << "a counter is no limit";
  ASSERT_TRUE(server.watched->run(core::SetQuota{.key = "q", .rule = hourly}).has_value());
  EXPECT_EQ(add("q").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(take_quota(1s).error().code, ErrorCode::kUnavailable) << "it has the rule that it was given";
  const core::KeyStep steps[] = {core::Throttle{.key = "t", .request = slow}, core::AddToCounter{.key = "hits"},
                                 core::AddToCounter{.key = "q"}, core::Throttle{.key = "u", .request = fast}};
  std::array<Result<core::KeyStepAnswer>, 4> answers;
  server.watched->run(core::KeysEach{steps, answers}).value();
  EXPECT_EQ(answers[0].error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(std::get<std::int64_t>(*answers[1]), 2);
  EXPECT_EQ(answers[2].error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(std::get<core::Verdict>(*answers[3]).is_allowed);

  pass(120, {&server});
  EXPECT_TRUE(throttle(slow).has_value());
  EXPECT_EQ(take_quota(1h).error().code, ErrorCode::kUnavailable) << "all limits are refilled, and this is not";
  EXPECT_EQ(server.log.read().find("nothing is refused any more"), std::string::npos);
  pass(3600, {&server});
  EXPECT_TRUE(take_quota(1h).has_value());
  EXPECT_THAT(server.log.read(), HasSubstr("nothing is refused any more"));
}

TEST_F(LostStateTest, HowLongIsWrittenForPeople) {
  shared_.define(window("hourly").amount(10).per(1h)).value();
  WatchingServer server(shared_, clock_);
  server.watched->on_loss([this]() -> Result<void> { return shared_.define(window("hourly").amount(10).per(1h)); });
  pass(20, {&server});
  shared_.wipe();
  pass(2, {&server});
  clock_.advance(1'905'257'781ns);
  const auto refused = server.take("hourly");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, ::testing::EndsWith("refused for another 59m58s"));
}

TEST_F(LostStateTest, WhoMayNotKeepAnythingThereSaysSoOnce) {
  WatchingServer server(shared_, clock_);
  shared_.wipe();
  server.may_keep = false;
  server.start();
  EXPECT_THAT(server.log.read(), HasSubstr("that the store loses its state may not be noticed"));
  pass(30, {&server});
  EXPECT_EQ(server.log.read(), "");
}

TEST_F(LostStateTest, ThatLimitsCannotBeDefinedAgainIsSaidOncePerReason) {
  WatchingServer server(shared_, clock_);
  std::string reason = "a bad row";
  int tries = 0;
  server.watched->on_loss([&]() -> Result<void> {
    ++tries;
    if (!reason.empty()) return Error{ErrorCode::kInvalid, reason};
    define();
    return {};
  });
  pass(20, {&server});
  shared_.wipe();
  pass(1, {&server});
  EXPECT_THAT(server.log.read(), HasSubstr("cannot be defined again  store=it  reason=\"a bad row\""));
  for (int i = 0; i < 5; ++i) server.watched->look();  // as calls that fail make it look
  EXPECT_EQ(tries, 1);
  pass(10, {&server});
  EXPECT_EQ(tries, 11);
  EXPECT_EQ(server.log.read(), "");
  reason = "another";
  pass(1, {&server});
  EXPECT_THAT(server.log.read(), HasSubstr("reason=another"));
  reason.clear();
  pass(1, {&server});
  EXPECT_TRUE(server.refuses("disk"));
}

}  // namespace
}  // namespace mete::store
