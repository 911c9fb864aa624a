// Redis is away: callers are told so in time, the limits that say so are open, and all goes on when it is back.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "faults/load.h"
#include "store/open.h"
#include "store/store.h"
#include "support/proxy.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// How it may be away, and how it comes back.
struct Absence {
  std::string name;
  void (*begin)(support::RedisServer& server, support::Proxy& proxy);
  void (*end)(support::RedisServer& server, support::Proxy& proxy);

  friend void PrintTo(const Absence& absence, std::ostream* out) { *out << absence.name; }
};

const Absence kAbsences[] = {
    {"refused", [](auto& /*server*/, auto& proxy) { proxy.refuse(); },
     [](auto& /*server*/, auto& proxy) { proxy.pass(); }},
    {"silent", [](auto& /*server*/, auto& proxy) { proxy.swallow_replies(); },
     [](auto& /*server*/, auto& proxy) { proxy.pass(); }},
    {"slow", [](auto& /*server*/, auto& proxy) { proxy.delay_replies(800ms); },
     [](auto& /*server*/, auto& proxy) { proxy.pass(); }},
    {"paused", [](auto& server, auto& /*proxy*/) { server.pause(); },
     [](auto& server, auto& /*proxy*/) { server.resume(); }},
    {"killed", [](auto& server, auto& /*proxy*/) { server.kill_hard(); },
     [](auto& server, auto& /*proxy*/) { server.start_again(); }},
};

class Unreachable : public ::testing::TestWithParam<Absence> {
 protected:
  Unreachable() {
    auto opened = store::open_store(proxy_.url(), {});
    store_ = opened.value().get();
    limiter_ = std::make_unique<Limiter>(std::move(*opened));
    EXPECT_TRUE(limiter_->define(stock("closed").amount(1'000'000)).has_value());
    EXPECT_TRUE(limiter_->define(bucket("open").amount(10).per(1h).on_fail(OnFail::kOpen)).has_value());
    EXPECT_TRUE(limiter_->take("closed", "k").value().allowed());
    EXPECT_TRUE(limiter_->take("open", "k").value().allowed());
  }
  void begin() { GetParam().begin(server_, proxy_); }
  void end() { GetParam().end(server_, proxy_); }

  // On disk, so that it is all there again after a kill.
  support::RedisServer server_{{.arguments = {"--appendonly", "yes", "--appendfsync", "always"}}};
  support::Proxy proxy_{server_.port()};
  store::Store* store_ = nullptr;
  std::unique_ptr<Limiter> limiter_;
};

TEST_P(Unreachable, CallersAreToldInTimeAndItGoesOnByItself) {
  begin();
  const auto start = steady_clock::now();
  const auto answer = limiter_->take("closed", "k");
  EXPECT_LT(steady_clock::now() - start, kInTime);
  ASSERT_FALSE(answer.has_value()) << "it must not be allowed unheard";
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
  end();
  // The pause between two attempts is two seconds at most.
  EXPECT_TRUE(support::becomes_true(10s, [&] { return limiter_->take("closed", "k").has_value(); }));
  EXPECT_TRUE(limiter_->usage("closed", "k").has_value());
}

TEST_P(Unreachable, OneAttemptPaysForAll) {
  begin();
  (void)limiter_->take("closed", "k");
  // The breaker: of a hundred more, but for the few that try again, each is answered at once.
  const auto start = steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(limiter_->take("closed", "k").has_value());
  EXPECT_LT(steady_clock::now() - start, 100 * 250ms / 4);
  end();
}

TEST_P(Unreachable, AnOpenLimitAdmitsAndIsCounted) {
  begin();
  const auto before = store_->statistics().unrecorded_admissions;
  for (int i = 0; i < 20; ++i) {
    const auto answer = limiter_->take("open", "k");
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_TRUE(answer->allowed());
  }
  EXPECT_EQ(store_->statistics().unrecorded_admissions - before, 20U);
  // Together with one that is closed it is not admitted.
  EXPECT_FALSE(limiter_->take({{"open", "k"}, {"closed", "k"}}).has_value());
  end();
  // What was admitted meanwhile is not charged afterwards; what Redis did without anybody hearing of it is.
  ASSERT_TRUE(support::becomes_true(10s, [&] { return limiter_->usage("open", "k").has_value(); }));
  EXPECT_LE(limiter_->usage("open", "k")->used, 10);
}

TEST_P(Unreachable, NothingIsAdmittedOverTheLimitMeanwhile) {
  constexpr Amount kAmount = 3000;
  ASSERT_TRUE(limiter_->define(stock("few").amount(kAmount)).has_value());
  Load load(4, [this] { return limiter_->take("few", "k"); });
  load.await_allowed(200);
  begin();
  std::this_thread::sleep_for(700ms);  // of real trouble
  end();
  Tally tally;
  ASSERT_TRUE(support::becomes_true(20s, [&] { return limiter_->usage("few", "k").has_value(); }));
  load.await_allowed(400);
  tally += load.stop();
  tally += exhaust(4, [this] { return limiter_->take("few", "k"); });
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LT(tally.slowest, kInTime);
  EXPECT_EQ(limiter_->usage("few", "k")->used, kAmount);
  EXPECT_LE(tally.allowed, kAmount);
  EXPECT_GE(tally.allowed + tally.unavailable, kAmount) << "what nobody was told of was charged";
}

INSTANTIATE_TEST_SUITE_P(Redis, Unreachable, ::testing::ValuesIn(kAbsences),
                         [](const auto& absence) { return absence.param.name; });

TEST(UnreachableAtFirst, OpeningSaysSo) {
  std::uint16_t port = 0;
  {
    const support::RedisServer server;
    port = server.port();
  }
  const auto start = steady_clock::now();
  const auto opened = open("redis://127.0.0.1:" + std::to_string(port));
  EXPECT_LT(steady_clock::now() - start, kInTime);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(opened.error().message.find(std::to_string(port)), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace mete::faults
