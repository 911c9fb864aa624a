// Random histories of three nodes whose links break and come back, for moments and for hours: in the end they agree.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <memory>

#include "escrow/peers/receiver.h"
#include "escrow/peers/sender.h"
#include "unit/escrow/peers_fixture.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using core::Expiry;
using core::ExpiryCondition;

constexpr std::size_t kNodes = 3;
constexpr std::array<const char*, 3> kKeys = {"x", "y", "z"};

// The link of one node to another, which may be down.
struct BreakableLink {
  PeerNode& from;
  PeerNode& to;
  Progress progress = {};
  std::unique_ptr<Sender> sender = {};
  std::unique_ptr<Receiver> receiver = {};
  std::string there = {};
  std::string back = {};

  void connect(Instant now) {
    sender =
        std::make_unique<Sender>(from.identity, to.identity.self.node, from.counters, progress, LinkTime{now, now});
    receiver = std::make_unique<Receiver>(to.identity, to.counters);
    there.clear();
    back.clear();
  }
  // Moves what there is to the other end; whether something moved.
  bool carry(Instant now) {
    RC_ASSERT(sender->advance({now, now}).has_value());
    there += std::exchange(sender->output(), {});
    const bool has_moved = !there.empty() || !back.empty();
    std::string_view input = there;
    RC_ASSERT(receiver->receive(input, back, now).has_value());
    there = input;
    input = back;
    RC_ASSERT(sender->receive(input, {now, now}).has_value());
    back = input;
    return has_moved;
  }
};

class World {
 public:
  World() {
    for (PeerNode& from : nodes) {
      for (PeerNode& to : nodes) {
        if (&from != &to) links.push_back({from, to});
      }
    }
  }

  void act() {
    Counters& counters = nodes[*rc::gen::inRange<std::size_t>(0, kNodes)].counters;
    const char* const key = kKeys[*rc::gen::inRange<std::size_t>(0, kKeys.size())];
    switch (*rc::gen::inRange(0, 7)) {
      case 0:
        counters.set({.key = key, .value = *rc::gen::inRange<std::int64_t>(-9, 10)}, now);
        break;
      case 1:
        counters.remove(key, now);
        break;
      case 2:
        counters.expire(key, Expiry::in(2s), ExpiryCondition::kAlways, now);
        break;
      case 3:
        counters.persist(key, now);
        break;
      default:
        RC_ASSERT(counters.add(key, *rc::gen::inRange<std::int64_t>(-9, 10), now).has_value());
    }
  }
  // A link breaks, comes back, or carries something; or nothing happens for a while.
  void pass() {
    BreakableLink& link = links[*rc::gen::inRange<std::size_t>(0, links.size())];
    const int what = *rc::gen::inRange(0, 8);
    if (what == 0) {
      link.sender.reset();
    } else if (what == 1) {
      break_all();
      now = now + *rc::gen::element<Duration>(50s, 70s, 50min, 2h);
    } else if (what == 2) {
      now = now + *rc::gen::element<Duration>(Duration(1s), Duration(100ms), Duration(2s));
      break_all();
    } else {
      if (!link.sender) link.connect(now);
      link.carry(now);
    }
    if (*rc::gen::arbitrary<bool>()) nodes[0].counters.sweep(now);
  }
  void settle() {
    for (BreakableLink& link : links) link.connect(now);
    bool has_moved = true;
    for (int rounds = 0; has_moved; ++rounds) {
      RC_ASSERT(rounds < 20);  // Pings would begin later.
      has_moved = false;
      for (BreakableLink& link : links) has_moved |= link.carry(now);
      now = now + Sender::kBatchEvery;
    }
  }

  std::array<PeerNode, kNodes> nodes = {PeerNode({"a", 1}), PeerNode({"b", 1}), PeerNode({"c", 1})};
  std::vector<BreakableLink> links;
  Instant now = Instant::from_unix_seconds(1'700'000'000);

 private:
  void break_all() {
    for (BreakableLink& link : links) link.sender.reset();
  }
};

RC_GTEST_PROP(PeerConvergence, NodesAgreeWhateverBecomesOfTheirLinks, ()) {
  World world;
  const int steps = *rc::gen::inRange(1, 80);
  for (int i = 0; i < steps; ++i) *rc::gen::arbitrary<bool>() ? world.act() : world.pass();
  world.settle();
  for (const char* const key : kKeys) {
    for (std::size_t i = 1; i < kNodes; ++i) {
      Counters& other = world.nodes[i].counters;
      RC_ASSERT(world.nodes[0].counters.get(key, world.now) == other.get(key, world.now));
      RC_ASSERT(world.nodes[0].counters.expires_at(key, world.now) == other.expires_at(key, world.now));
    }
  }
}

}  // namespace
}  // namespace mete::escrow
