// A store elsewhere: a Mete server in this process, asked by threads, by fibers of several loops and by start() at
// once, over connections that are shared and cut.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "net/fiber_thread.h"
#include "serving/mete_server.h"
#include "store/embedded/embedded_store.h"
#include "store/network/combiner.h"
#include "support/proxy.h"
#include "threads/many.h"

namespace mete::threads {
namespace {

using namespace std::chrono_literals;

constexpr int kFiberLoops = 3;
constexpr int kTakesOfThread = 2'000 / kSlowdown;

struct LanedCall {
  std::uint64_t lane = 0;
  int made = 0;
};

// Whoever comes together is carried out once, and nothing of one lane side by side.
TEST(CombinerThreads, EachCallIsMadeOnceAndLanesOneAfterTheOther) {
  constexpr int kLanes = 4;
  store::Combiner<LanedCall> combiner({.near = 2, .far = 8, .together_max = 3});
  std::array<std::atomic<int>, kLanes + 1> under_way{};
  std::atomic<int> mixed{0};
  const auto join = [&](Random& random) {
    LanedCall call{.lane = static_cast<std::uint64_t>(random.below(kLanes + 1))};
    combiner.join(call, [&](std::span<LanedCall* const> together) {
      // A lane that is among them several times is under way once.
      std::array<bool, kLanes + 1> lanes{};
      for (const LanedCall* each : together) lanes[each->lane] = true;
      for (std::uint64_t lane = 1; lane <= kLanes; ++lane) {
        if (lanes[lane] && ++under_way[lane] != 1) ++mixed;
      }
      net::pause_for(10us);
      for (LanedCall* each : together) ++each->made;
      for (std::uint64_t lane = 1; lane <= kLanes; ++lane) {
        if (lanes[lane]) --under_way[lane];
      }
      return true;
    });
    return call.made == 1;
  };
  std::atomic<int> wrong{0};
  {
    std::array<std::unique_ptr<net::FiberThread>, kFiberLoops> loops;
    for (auto& loop : loops) loop = std::make_unique<net::FiberThread>(16);
    run(kThreads, [&](int thread, Random& random) {
      for (int i = 0; i < kTakesOfThread; ++i) {
        if (!join(random)) ++wrong;
        loops[static_cast<std::size_t>(thread) % kFiberLoops]->run([&, seed = random.below(1'000'000)] {
          Random own(seed);
          if (!join(own)) ++wrong;
        });
      }
    });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(mixed, 0);
}

class ElsewhereThreads : public ::testing::Test {
 protected:
  ElsewhereThreads()
      : server_(std::make_unique<store::EmbeddedStore>(Options{})),
        proxy_(server_.port()),
        limiter_(mete::open("mete://127.0.0.1:" + std::to_string(proxy_.port()) + "?timeout=20s").value()) {}

  [[nodiscard]] Amount used(std::string_view limit) { return server_.store().usage({limit, "k"}).value().used; }

  serving::MeteServer server_;
  support::Proxy proxy_;
  Limiter limiter_;
};

// Threads wait for their answers, and what they start is carried out on fibers meanwhile.
TEST_F(ElsewhereThreads, TogetherTheyGetTheLimitAndNoMore) {
  constexpr Amount kAmount = Amount{kThreads} * kTakesOfThread;  // Half of what they want.
  limiter_.define(stock("api").amount(kAmount)).value();
  std::atomic<Amount> admitted{0};
  std::atomic<int> completed{0};
  std::atomic<int> failed{0};
  {
    Limiter starting = mete::open(server_.url()).value();
    run(kThreads, [&](int /*thread*/, Random& /*random*/) {
      for (int i = 0; i < kTakesOfThread; ++i) {
        if (limiter_.allow("api", "k")) ++admitted;
        starting.start([](Limiter& limiter) { return limiter.take("api", "k"); },
                       [&](const Result<Decision>& decision) {
                         ++completed;
                         if (!decision.has_value()) {
                           ++failed;
                         } else if (decision->allowed()) {
                           ++admitted;
                         }
                       });
      }
    });
  }
  EXPECT_EQ(completed, kThreads * kTakesOfThread);
  // Those that had not begun when the Limiter went were not carried out.
  EXPECT_LE(admitted, kAmount);
  EXPECT_EQ(admitted, used("api"));
  EXPECT_GE(admitted + failed, kAmount);
}

// Whoever loses its connection asks again by the same id, on threads and on fibers.
TEST_F(ElsewhereThreads, ConnectionsThatAreCutChargeOnceById) {
  constexpr int kEach = kTakesOfThread / 4;
  limiter_.define(stock("api").amount(1'000'000)).value();
  std::atomic<Amount> admitted{0};
  const auto take = [&](const std::string& id) {
    for (;;) {
      const auto decision = limiter_.take({{"api", "k"}}, {.id = id});
      if (!decision.has_value() && decision.error().code == ErrorCode::kUnavailable) continue;
      if (decision.value().allowed()) ++admitted;
      return;
    }
  };
  {
    std::array<std::unique_ptr<net::FiberThread>, kFiberLoops> loops;
    for (auto& loop : loops) loop = std::make_unique<net::FiberThread>(64);
    const Meanwhile cutting([this] {
      proxy_.cut();
      std::this_thread::sleep_for(20ms);
    });
    run(kThreads, [&](int thread, Random& /*random*/) {
      for (int i = 0; i < kEach; ++i) {
        const std::string id = std::to_string(thread) + "-" + std::to_string(i);
        loops[static_cast<std::size_t>(thread) % kFiberLoops]->run([&take, id] { take("fiber-" + id); });
        take("thread-" + id);
      }
    });
    for (auto& loop : loops) loop->finish();
  }
  EXPECT_EQ(admitted, 2 * kThreads * kEach);
  EXPECT_EQ(used("api"), admitted);
}

// Every operation, on every way, while limits are defined and statistics are asked for.
TEST_F(ElsewhereThreads, AllOperationsAtOnce) {
  limiter_.define(stock("api").amount(1'000'000)).value();
  limiter_.define(bucket("calls").amount(1'000'000).per(1h)).value();
  std::atomic<int> wrong{0};
  const auto work = [&](Random& random) {
    const std::string key = "k" + std::to_string(random.below(10));
    switch (random.below(4)) {
      case 0: {
        const auto both = limiter_.take({{"api", key, random.amount(3)}, {"calls", key}});
        if (!both.has_value()) ++wrong;
        break;
      }
      case 1: {
        const auto hold = limiter_.hold("api", key, 5, 1h);
        if (!hold.has_value() || !limiter_.commit(hold->id, random.below(5)).has_value()) ++wrong;
        break;
      }
      case 2:
        if (!limiter_.usage("api", key).has_value()) ++wrong;
        break;
      default:
        if (!limiter_.take_each({{"api", key}, {"calls", key}, {"calls", key}}).has_value()) ++wrong;
    }
  };
  {
    std::array<std::unique_ptr<net::FiberThread>, kFiberLoops> loops;
    for (auto& loop : loops) loop = std::make_unique<net::FiberThread>(64);
    const Meanwhile defining([this] { limiter_.define(stock("api").amount(1'000'001)).value(); });
    run(kThreads, [&](int thread, Random& random) {
      for (int i = 0; i < kTakesOfThread / 4; ++i) {
        work(random);
        loops[static_cast<std::size_t>(thread) % kFiberLoops]->run([&, seed = random.below(1'000'000)] {
          Random own(seed);
          work(own);
        });
      }
    });
    for (auto& loop : loops) loop->finish();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace mete::threads
