// Nodes over one shared store, on clocks that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/try.h"
#include "escrow/escrow_store.h"
#include "serving/fickle_store.h"
#include "store/embedded/embedded_store.h"
#include "support/simulated_disk.h"

namespace mete::escrow {

using namespace std::chrono_literals;
using serving::Mood;

// A node's way to a store that others use too.
class WayToShared final : public store::StoreOf<WayToShared> {
 public:
  WayToShared(store::Store& to, std::function<Mood(std::string_view operation)>& mood) : to_(to), mood_(mood) {}
  [[nodiscard]] Instant now() const override { return to_.now(); }

 private:
  friend class store::StoreOf<WayToShared>;
  template <class What>
  Result<typename What::Answer> perform(const What& operation, store::Execution& execution) {
    const Mood now = mood_ ? mood_(What::kTraits.name) : Mood::kWell;
    if (now == Mood::kAway) return base::unavailable("it is away");
    auto answer = to_.run(operation, execution);
    if (now == Mood::kMute) return base::unavailable("the answer was lost");
    return answer;
  }

  store::Store& to_;
  std::function<Mood(std::string_view operation)>& mood_;
};

// Asks other nodes at once, in this thread.
class NodesBeside final : public Others {
 public:
  explicit NodesBeside(const std::vector<EscrowStore*>& nodes) : nodes_(nodes) {}
  void ask(ShareQuestion question, Done done) override {
    ++rounds;
    std::vector<NodeShare> sum(question.keys.size());
    for (EscrowStore* node : nodes_) {
      if (node == self) continue;
      const auto shares = node->answer(0, question).value();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += shares[i];
    }
    done(sum);
  }
  void set_peers(std::vector<PeerAddress> /*peers*/) override {}
  void set_credentials(std::shared_ptr<const PeerCredentials> /*credentials*/) override {}

  EscrowStore* self = nullptr;
  int rounds = 0;

 private:
  const std::vector<EscrowStore*>& nodes_;
};

class EscrowPromise : public ::testing::Test {
 protected:
  using Node = std::unique_ptr<EscrowStore>;

  Result<Node> open(std::string name, std::unique_ptr<store::Store> local) {
    EscrowParts parts;
    parts.local = std::move(local);
    parts.shared = std::make_unique<WayToShared>(shared, mood);
    parts.node = std::move(name);
    parts.incarnation = ++incarnation;
    parts.clock = &clock;
    parts.has_threads = false;
    auto others = std::make_unique<NodesBeside>(beside);
    NodesBeside* const asked = others.get();
    parts.others = std::move(others);
    auto opened = TRY(EscrowStore::open(std::move(parts)));
    asked->self = opened.get();
    asks[opened.get()] = asked;
    return opened;
  }
  Node node(std::string name) {
    return open(std::move(name), std::make_unique<store::EmbeddedStore>(Options{.clock = &clock})).value();
  }
  static bool take(store::Store& store, std::string_view limit, Amount cost = 1) {
    const Charge charge{limit, "k", cost};
    const auto verdict = store.take({.charges = {&charge, 1}});
    EXPECT_TRUE(verdict.has_value()) << verdict.error().message;
    return verdict.has_value() && verdict->is_allowed;
  }
  // Units that the store admits, one by one, until it denies for good.
  Amount take_all(EscrowStore& store, std::string_view limit) {
    Amount admitted = 0;
    for (int denials = 0; denials < 3;) {
      if (take(store, limit)) {
        ++admitted;
      } else {
        ++denials;
        clock.advance(1ms);
        store.tend();
      }
    }
    return admitted;
  }
  // A store of the node's own, with what the disk has.
  std::unique_ptr<store::Store> on_disk() {
    return store::EmbeddedStore::open({.directory = "/data", .files = disk.get(), .has_threads = false},
                                      {.clock = &clock})
        .value();
  }
  // It says nothing more to anybody.
  void kill(Node& killed) {
    auto found = disk->kill_process();
    mood = [](std::string_view /*operation*/) { return Mood::kAway; };
    killed.reset();
    mood = nullptr;
    disk = std::move(found);
  }
  Usage there(std::string_view limit) { return shared.usage({limit, "k"}).value(); }
  Amount charged(std::string_view limit) { return there(limit).used + there(limit).held; }

  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};
  store::EmbeddedStore shared{Options{.clock = &clock}};
  std::function<Mood(std::string_view operation)> mood;
  std::unique_ptr<support::SimulatedDisk> disk = std::make_unique<support::SimulatedDisk>();
  std::vector<EscrowStore*> beside;  // who can be asked what they have
  std::map<EscrowStore*, NodesBeside*> asks;
  std::uint64_t incarnation = 0;
};

}  // namespace mete::escrow
