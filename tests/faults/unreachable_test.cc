// The server is away: callers are told so in time, the limits that say so are open, and all goes on when it is back.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <tuple>

#include "faults/load.h"
#include "faults/world.h"
#include "store/open.h"
#include "store/store.h"
#include "support/ports.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// How it may be away, and how it comes back.
struct Absence {
  std::string name;
  void (*begin)(World& world);
  void (*end)(World& world);

  friend void PrintTo(const Absence& absence, std::ostream* out) { *out << absence.name; }
};

const Absence kAbsences[] = {
    {"refused", [](World& world) { world.proxy().refuse(); }, [](World& world) { world.proxy().pass(); }},
    {"silent", [](World& world) { world.proxy().swallow_replies(); }, [](World& world) { world.proxy().pass(); }},
    {"slow", [](World& world) { world.proxy().delay_replies(2 * World::kTimeout); },
     [](World& world) { world.proxy().pass(); }},
    {"paused", [](World& world) { world.pause(); }, [](World& world) { world.resume(); }},
    {"killed", [](World& world) { world.kill_hard(); }, [](World& world) { world.start_again(); }},
};

class Unreachable : public ::testing::TestWithParam<std::tuple<Make, Absence>> {
 protected:
  Unreachable() {
    Limiter patient = mete::open(world_->patient_url()).value();
    EXPECT_TRUE(patient.define(stock("closed").amount(1'000'000)).has_value());
    EXPECT_TRUE(patient.define(bucket("open").amount(10).per(1h).on_fail(OnFail::kOpen)).has_value());
    store_ = open_patiently();
    limiter_ = std::make_unique<Limiter>(std::unique_ptr<store::Store>(store_));
    for (const char* limit : {"closed", "open"}) {
      EXPECT_TRUE(support::becomes_true(20s, [&] { return limiter_->take(limit, key_).has_value(); }));
    }
  }
  void begin() { std::get<Absence>(GetParam()).begin(*world_); }
  void end() { std::get<Absence>(GetParam()).end(*world_); }

  const SharedWorld world_{std::get<Make>(GetParam()), Disk::kCached};
  const std::string key_ = unused_key();
  store::Store* store_ = nullptr;  // the limiter's
  std::unique_ptr<Limiter> limiter_;

 private:
  // The first call of all may be slower than the others on a busy machine.
  store::Store* open_patiently() {
    std::unique_ptr<store::Store> store;
    EXPECT_TRUE(support::becomes_true(20s, [&] {
      auto opened = store::open_store(world_->url(), {});
      if (opened) store = std::move(*opened);
      return opened.has_value();
    }));
    return store.release();
  }
};

TEST_P(Unreachable, CallersAreToldInTimeAndItGoesOnByItself) {
  begin();
  const auto start = steady_clock::now();
  const auto answer = limiter_->take("closed", key_);
  EXPECT_LT(steady_clock::now() - start, kInTime);
  ASSERT_FALSE(answer.has_value()) << "it must not be allowed unheard";
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
  end();
  // The pause between two attempts is two seconds at most.
  EXPECT_TRUE(support::becomes_true(10s, [&] { return limiter_->take("closed", key_).has_value(); }));
  EXPECT_TRUE(limiter_->usage("closed", key_).has_value());
}

TEST_P(Unreachable, OneAttemptPaysForAll) {
  begin();
  (void)limiter_->take("closed", key_);
  // The breaker: of a hundred more, but for the few that try again, each is answered at once.
  const auto start = steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(limiter_->take("closed", key_).has_value());
  EXPECT_LT(steady_clock::now() - start, 100 * World::kTimeout / 4);
  end();
}

TEST_P(Unreachable, AnOpenLimitAdmitsAndIsCounted) {
  begin();
  const auto before = store_->statistics().unrecorded_admissions;
  for (int i = 0; i < 20; ++i) {
    const auto answer = limiter_->take("open", key_);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_TRUE(answer->allowed());
  }
  EXPECT_EQ(store_->statistics().unrecorded_admissions - before, 20U);
  // Together with one that is closed it is not admitted.
  EXPECT_FALSE(limiter_->take({{"open", key_}, {"closed", key_}}).has_value());
  end();
  // What was admitted meanwhile is not charged afterwards; what the server did without anybody hearing of it is.
  ASSERT_TRUE(support::becomes_true(10s, [&] { return limiter_->usage("open", key_).has_value(); }));
  EXPECT_LE(limiter_->usage("open", key_)->used, 10);
}

TEST_P(Unreachable, NothingIsAdmittedOverTheLimitMeanwhile) {
  constexpr Amount kAmount = 1500;
  ASSERT_TRUE(limiter_->define(stock("few").amount(kAmount)).has_value());
  Load load(4, [this] { return limiter_->take("few", key_); });
  load.await_allowed(100);
  begin();
  load.await_failures(4);
  end();
  Tally tally;
  ASSERT_TRUE(support::becomes_true(20s, [&] { return limiter_->usage("few", key_).has_value(); }));
  load.await_allowed(200);
  tally += load.stop();
  tally += exhaust(4, [this] { return limiter_->take("few", key_); });
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LT(tally.slowest, kInTime);
  EXPECT_EQ(limiter_->usage("few", key_)->used, kAmount);
  EXPECT_LE(tally.allowed, kAmount);
  EXPECT_GE(tally.allowed + tally.unavailable, kAmount) << "what nobody was told of was charged";
}

INSTANTIATE_TEST_SUITE_P(Servers, Unreachable,
                         ::testing::Combine(::testing::ValuesIn(makes()), ::testing::ValuesIn(kAbsences)),
                         [](const auto& each) {
                           return std::get<Make>(each.param).name + "_" + std::get<Absence>(each.param).name;
                         });

// Where nobody listens.
struct AtFirst {
  std::string name;
  std::string before_port;

  friend void PrintTo(const AtFirst& at_first, std::ostream* out) { *out << at_first.name; }
};

class UnreachableAtFirst : public ::testing::TestWithParam<AtFirst> {};

TEST_P(UnreachableAtFirst, OpeningSaysSo) {
  const std::string port = std::to_string(support::free_port());
  const auto start = steady_clock::now();
  const auto opened = open(GetParam().before_port + port);
  EXPECT_LT(steady_clock::now() - start, kInTime);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(opened.error().message.find(port), std::string::npos) << opened.error().message;
}

INSTANTIATE_TEST_SUITE_P(Servers, UnreachableAtFirst,
                         ::testing::Values(AtFirst{"redis", "redis://127.0.0.1:"},
                                           AtFirst{"postgres", "postgres://mete@127.0.0.1:"}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace mete::faults
