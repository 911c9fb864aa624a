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

// Every kind, with several charges, ids, holds, gives, looks and redefinitions at once. What was told is what is
// charged in the end, to the unit, of limits whose usage does not change by itself; and never more than the limit.
TEST_F(EscrowThreads, EveryKindAndEveryOperationAtOnce) {
  const std::array limits = {window("window").amount(kAmount).per(24h), stock("stock").amount(kAmount),
                             calendar("calendar").amount(kAmount).per(Unit::kYear),
                             sliding("sliding").amount(kAmount).per(24h), bucket("bucket").amount(kAmount).per(24h)};
  constexpr std::size_t kExact = 3;  // the first of them
  std::array<std::atomic<Amount>, limits.size()> told{};
  for (Limit limit : limits) ASSERT_TRUE(node_->define(limit.scope(Scope::kEscrow)));
  std::atomic<int> last_id{0};
  const auto any = [&](Random& random) { return static_cast<std::size_t>(random.below(limits.size())); };
  const auto expect_known = [](const auto& answer) { EXPECT_TRUE(answer.has_value()) << answer.error().message; };
  run(kThreads, [&](int /*thread*/, Random& random) {
    for (int i = 0; i < kTakes / 10; ++i) {
      const std::size_t first = any(random);
      const std::size_t second = any(random);
      const std::array charges = {Charge{limits[first].name(), "k", random.amount(3)},
                                  Charge{limits[second].name(), "k", random.amount(2)}};
      const bool is_one = first == second || random.one_in(2);
      const std::string id = random.one_in(5) ? "op" + std::to_string(++last_id) : "";
      const auto verdict = node_->take({.charges = {charges.data(), is_one ? 1U : 2U}, .id = id});
      expect_known(verdict);
      if (verdict->is_allowed) {
        told[first] += charges[0].cost;
        if (!is_one) told[second] += charges[1].cost;
      }
      if (random.one_in(20)) {
        const std::string hold = "hold" + std::to_string(++last_id);
        const auto held = node_->hold({.charges = {charges.data(), 1}, .ttl = 1h, .id = hold});
        expect_known(held);
        const Amount kept = charges[0].cost - 1;
        if (held->is_allowed) {
          expect_known(kept == 0 ? node_->cancel(hold) : node_->commit({.id = hold, .amounts = {&kept, 1}}));
          told[first] += kept;
        }
      }
      if (random.one_in(50) && first < kExact) {
        const auto given = node_->give({charges.data(), 1}, {});
        expect_known(given);
        told[first] -= given->amount;
      }
      if (random.one_in(50)) expect_known(node_->usage({limits[first].name(), "k"}));
      if (random.one_in(300)) {
        Limit same = limits[first];
        expect_known(node_->define(same.scope(Scope::kEscrow)));
      }
    }
  });
  for (const Limit& limit : limits)
    EXPECT_LE(told[static_cast<std::size_t>(&limit - limits.data())], kAmount + kAmount / 60);
  // What is idle goes back after some seconds.
  for (std::size_t i = 0; i < kExact; ++i) {
    EXPECT_TRUE(support::becomes_true(10s,
                                      [&] {
                                        const Usage usage = shared_->usage({limits[i].name(), "k"}).value();
                                        return usage.used + usage.held == told[i];
                                      }))
        << limits[i].name() << ": told " << told[i] << ", charged "
        << shared_->usage({limits[i].name(), "k"}).value().used << " and held "
        << shared_->usage({limits[i].name(), "k"}).value().held;
  }
}

}  // namespace
}  // namespace mete::threads
