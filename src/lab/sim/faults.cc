#include "lab/sim/faults.h"

#include <algorithm>

#include "lab/sim/cluster.h"

namespace mete::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kUp = 1;
constexpr int kDown = 2;
constexpr std::size_t kNodesMost = 12;

}  // namespace

Faults::Faults(Cluster& cluster) : cluster_(cluster) {
  const FaultPlan& plan = cluster.scenario().faults;
  if (plan.loses) possible_.push_back(&Faults::change_weather);
  if (plan.parts) possible_.insert(possible_.end(), {&Faults::part_one, &Faults::part_minority, &Faults::flap});
  if (plan.crashes) possible_.push_back(&Faults::crash);
  if (plan.pauses) possible_.push_back(&Faults::pause);
  if (plan.store_fails) possible_.push_back(&Faults::fail_store);
  if (plan.redefines) possible_.insert(possible_.end(), {&Faults::redefine, &Faults::change_override});
  if (plan.moves_nodes) possible_.push_back(&Faults::move_node);
}

void Faults::begin() {
  if (!possible_.empty()) next();
}

void Faults::next() {
  World& world = cluster_.world();
  const Duration gap = Duration::from_ns(world.random.between(1, 2 * cluster_.scenario().faults.mean_gap.ns()));
  world.events.after(gap, [this, &world] {
    if (!cluster_.has_faults()) return;
    (this->*possible_[world.random.below(possible_.size())])();
    next();
  });
}

std::size_t Faults::any_node() { return cluster_.world().random.below(cluster_.node_count()); }

void Faults::change_weather() {
  World& world = cluster_.world();
  Random& random = world.random;
  Weather weather;
  if (random.chance(600)) weather.lost_permille = static_cast<int>(random.between(0, 300));
  if (random.chance(600)) weather.doubled_permille = static_cast<int>(random.between(0, 300));
  if (random.chance(600)) weather.late_permille = static_cast<int>(random.between(0, 300));
  weather.late_max = random.between(Duration(milliseconds(10)), Duration(seconds(8)));
  world.note({"the network loses of 1000", -1, -1, weather.lost_permille});
  cluster_.network().set_weather(weather);
}

void Faults::cut(std::size_t node, int directions) {
  Network::Link& link = cluster_.network().link(node);
  link = {.up = (directions & kUp) == 0, .down = (directions & kDown) == 0};
  cluster_.world().note({directions == 0 ? "is linked again" : "is cut off", static_cast<int>(node), -1, directions});
}

// Both ways or one way, and for longer than a window or less.
void Faults::part_one() {
  World& world = cluster_.world();
  const std::size_t node = any_node();
  cut(node, static_cast<int>(world.random.between(kUp, kUp | kDown)));
  world.events.after(world.random.between(Duration(milliseconds(50)), Duration(seconds(10))), [this, node] {
    if (cluster_.has_faults()) cut(node, 0);
  });
}

void Faults::part_minority() {
  for (std::size_t count = (cluster_.node_count() - 1) / 2; count > 0; --count) part_one();
}

void Faults::flap() {
  World& world = cluster_.world();
  const std::size_t node = any_node();
  Duration at = {};
  for (std::int64_t i = world.random.between(2, 8); i > 0; --i) {
    for (const int directions : {kUp | kDown, 0}) {
      world.events.after(at, [this, node, directions] {
        if (cluster_.has_faults()) cut(node, directions);
      });
      at = at + world.random.between(Duration(milliseconds(10)), Duration(milliseconds(400)));
    }
  }
}

void Faults::crash() {
  World& world = cluster_.world();
  const std::size_t node = any_node();
  cluster_.node(node).crash();
  world.events.after(world.random.between(Duration(milliseconds(1)), Duration(seconds(3))), [this, node] {
    if (cluster_.has_faults()) cluster_.start_node(node);
  });
}

void Faults::pause() {
  cluster_.node(any_node()).pause(cluster_.world().random.between(Duration(milliseconds(10)), Duration(seconds(10))));
}

void Faults::fail_store() {
  World& world = cluster_.world();
  using Health = SharedStore::Health;
  const auto health = static_cast<Health>(world.random.between(1, 3));
  world.note({"the shared store fails", -1, -1, static_cast<int>(health)});
  cluster_.store().set_health(health);
  world.events.after(world.random.between(Duration(milliseconds(10)), Duration(seconds(3))), [this] {
    cluster_.world().note({"the shared store is fine"});
    cluster_.store().set_health(Health::kFine);
  });
}

void Faults::redefine() {
  Random& random = cluster_.world().random;
  const std::size_t index = random.below(cluster_.scenario().limits.size());
  Limit limit = cluster_.scenario().limits[index].definition;
  const Amount amount = random.between(1, 2 * limit.amount());
  if (limit.burst() && random.chance(500)) limit.burst(random.between(1, 2 * *limit.burst()));
  cluster_.redefine(index, limit.amount(amount));
}

void Faults::change_override() {
  Random& random = cluster_.world().random;
  const Scenario& scenario = cluster_.scenario();
  const std::size_t meter = random.below(scenario.meters.size());
  const Amount amount = scenario.limits[scenario.meters[meter].limit].definition.amount();
  cluster_.set_override(meter, random.chance(300) ? std::nullopt : std::optional(random.between(1, 2 * amount)));
}

// A node leaves in good order, comes back, or is new.
void Faults::move_node() {
  const std::size_t node = any_node();
  if (cluster_.node(node).is_taking()) return cluster_.node(node).stop();
  if (!cluster_.node(node).is_up()) return cluster_.start_node(node);
  if (cluster_.node_count() < kNodesMost) cluster_.add_node();
}

}  // namespace mete::sim
