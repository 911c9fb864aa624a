// A node that many threads take from at once, while its shares are drawn, given back, redefined and looked at.
#include "escrow/escrow_store.h"

#include <gtest/gtest.h>

#include <array>

#include "store/embedded/embedded_store.h"
#include "support/waiting.h"
#include "threads/many.h"

namespace mete::threads {
namespace {

using namespace std::chrono_literals;

constexpr int kTakes = 20'000 / kSlowdown;

class EscrowThreads : public ::testing::Test {
 protected:
  static constexpr Amount kAmount = kTakes;  // Less than all threads want.

  EscrowThreads() {
    escrow::EscrowParts parts;
    parts.local = std::make_unique<store::EmbeddedStore>(Options{});
    auto shared = std::make_unique<store::EmbeddedStore>(Options{});
    shared_ = shared.get();
    parts.shared = std::move(shared);
    parts.node = "a";
    parts.incarnation = 1;
    node_ = escrow::EscrowStore::open(std::move(parts)).value();
  }
  static Limit hourly(Amount amount) { return window("api").amount(amount).per(1h).scope(Scope::kEscrow); }

  store::Store* shared_ = nullptr;
  std::unique_ptr<escrow::EscrowStore> node_;
};

TEST_F(EscrowThreads, TogetherTheyGetTheLimitAndNoMore) {
  ASSERT_TRUE(node_->define(hourly(kAmount)));
  ASSERT_TRUE(node_->define(stock("seats").amount(kAmount / 10).scope(Scope::kEscrow)));
  std::atomic<Amount> taken{0};
  std::atomic<Amount> seats{0};
  run(kThreads, [&](int /*thread*/, Random& random) {
    for (int i = 0; i < kTakes; ++i) {
      const Charge charge{"api", "k", random.amount(3)};
      if (node_->take({.charges = {&charge, 1}}).value().is_allowed) taken += charge.cost;
      if (random.one_in(20)) {
        const Charge seat{"seats", "k", 1};
        if (node_->take({.charges = {&seat, 1}}).value().is_allowed) ++seats;
      }
      if (random.one_in(500)) {
        ASSERT_TRUE(node_->usage({"api", "k"}));
      }
      if (random.one_in(1000)) {
        ASSERT_GE(node_->status().shares.usable, 0);
      }
    }
  });
  // What is left was given back, or is denied for a moment yet.
  const Charge one{"api", "k", 1};
  EXPECT_TRUE(support::becomes_true(10s, [&] {
    while (node_->take({.charges = {&one, 1}}).value().is_allowed) ++taken;
    return taken >= kAmount;
  }));
  EXPECT_EQ(taken, kAmount);
  EXPECT_LE(seats, kAmount / 10);
}

TEST_F(EscrowThreads, ABucketIsAskedByAllAtOnce) {
  ASSERT_TRUE(node_->define(bucket("burst").amount(kAmount).per(1h).scope(Scope::kEscrow)));
  std::atomic<Amount> taken{0};
  run(kThreads, [&](int /*thread*/, Random& random) {
    for (int i = 0; i < kTakes; ++i) {
      const Charge charge{"burst", "k", random.amount(3)};
      if (node_->take({.charges = {&charge, 1}}).value().is_allowed) taken += charge.cost;
    }
  });
  EXPECT_GT(taken, kAmount / 2);
  EXPECT_LE(taken, kAmount + kAmount / 60) << "the burst, and what has come since: this takes no minute";
}

TEST_F(EscrowThreads, RedefinedAndDroppedMeanwhile) {
  ASSERT_TRUE(node_->define(hourly(kAmount)));
  run(kThreads, [&](int thread, Random& random) {
    for (int i = 0; i < kTakes / 10; ++i) {
      const std::string key = "k" + std::to_string(random.below(20));
      const std::array charges = {Charge{"api", key, 1}, Charge{"api", "all", 1}};
      const auto verdict = node_->take({.charges = charges});
      ASSERT_TRUE(verdict.has_value() || verdict.error().code == ErrorCode::kNoLimit) << verdict.error().message;
      if (random.one_in(200)) {
        ASSERT_TRUE(node_->define(hourly(kAmount + random.below(100))));
      }
      if (thread == 0 && random.one_in(100)) {
        ASSERT_TRUE(node_->drop("api").has_value());
      }
      if (random.one_in(100)) static_cast<void>(node_->give({charges.data(), 1}, {}));
    }
  });
  node_->define(hourly(kAmount)).value();
  const Usage usage = shared_->usage({"api", "all"}).value();
  EXPECT_LE(usage.used + usage.held, kAmount + 100);
}

}  // namespace
}  // namespace mete::threads
