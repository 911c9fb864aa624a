// Takes of one list on a node whose shared store is far away: they wait for it together.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "escrow/escrow_store.h"
#include "net/signal.h"
#include "store/embedded/embedded_store.h"
#include "support/on_fibers.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kNewKeys = 40;

// A shared store that answers nobody's take or draw before so many have come: who asks one after the other is late.
class CrowdedStore final : public store::Store {
 public:
  std::size_t crowd = 0;
  bool is_late = false;

  [[nodiscard]] Instant now() const override { return inside_.now(); }

 private:
  void execute(const store::Operation& operation, store::Execution& execution) override {
    operation.visit([this]<class What>(const What& what, auto& /*answer*/) {
      if constexpr (std::is_same_v<What, core::Take> || std::is_same_v<What, core::Hold>) {
        if (!what.charges[0].limit.starts_with("mete.")) wait_for_crowd();
      }
    });
    pass_on(inside_, operation, execution);
  }
  void wait_for_crowd() {
    std::unique_lock lock(mutex_);
    if (++come_ >= crowd) changed_.notify_all();
    if (!changed_.wait(lock, patience_, [this] { return come_ >= crowd || is_late; })) is_late = true;
  }

  const net::Deadline patience_ = net::Deadline::in(20s);
  store::EmbeddedStore inside_{Options{}};
  std::mutex mutex_;
  net::Signal changed_;
  std::size_t come_ = 0;
};

class TogetherTest : public ::testing::Test {
 protected:
  TogetherTest() {
    EscrowParts parts;
    parts.local = std::make_unique<store::EmbeddedStore>(Options{});
    auto shared = std::make_unique<CrowdedStore>();
    shared_ = shared.get();
    parts.shared = std::move(shared);
    parts.node = "a";
    parts.incarnation = 1;
    node_ = EscrowStore::open(std::move(parts)).value();
    for (const Scope scope : {Scope::kNode, Scope::kShared, Scope::kEscrow}) {
      const Limit limit = stock(std::string(to_string(scope))).amount(5).scope(scope);
      EXPECT_TRUE(node_->define(limit).has_value());
    }
  }

  std::vector<Result<core::Verdict>> take(const std::vector<Charge>& charges) {
    std::vector<Result<core::Verdict>> answers(charges.size());
    support::on_fibers(1, [&](std::size_t) { node_->take_each(charges, answers); });
    return answers;
  }

  CrowdedStore* shared_ = nullptr;
  std::unique_ptr<EscrowStore> node_;
};

TEST_F(TogetherTest, NewKeysWaitForTheSharedStoreTogether) {
  for (const char* const limit : {"shared", "escrow"}) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < kNewKeys; ++i) keys.push_back(std::string(limit) + std::to_string(i));
    std::vector<Charge> charges;
    for (const std::string& key : keys) {
      charges.push_back({limit, key});
      charges.push_back({"node", key});
    }
    shared_->crowd += kNewKeys;
    for (const auto& answer : take(charges)) EXPECT_TRUE(answer.value().is_allowed) << limit;
    EXPECT_FALSE(shared_->is_late) << limit;
  }
}

TEST_F(TogetherTest, TakesOfAMeterKeepTheirOrder) {
  for (const char* const limit : {"shared", "escrow", "node"}) {
    const auto answers = take({{limit, "k", 3}, {limit, "k", 3}, {limit, "other", 5}, {limit, "k", 2}, {limit, "k"}});
    std::string allowed;
    for (const auto& answer : answers) allowed += answer.value().is_allowed ? 'y' : 'n';
    EXPECT_EQ(allowed, "ynyyn") << limit;
  }
}

}  // namespace
}  // namespace mete::escrow
