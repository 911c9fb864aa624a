#include "lab/sim/scenario.h"

#include <algorithm>

#include "lab/sim/world.h"

namespace mete::sim {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Requests a second, at most, of one meter: more would only make the run longer.
constexpr std::int64_t kRequestsPerSecondMax = 250;
// In which time the amount of a calendar limit is asked for, whose hour nobody waits for.
constexpr Duration kCalendarRush = seconds(4);

// From 1 on, and small ones as often as large ones.
Amount draw_amount(Random& random, Duration period) {
  const Amount most = std::max<Amount>(8, kRequestsPerSecondMax * period.ns() / 2'000'000'000);
  Amount top = 8;
  while (top < most && random.chance(700)) top *= 3;
  return random.between(1, std::min(top, most));
}

LimitPlan draw_limit(Random& random, std::size_t index) {
  const std::string name = "limit" + std::to_string(index);
  const Duration period = milliseconds(random.between(4, 16) * 500);
  const Amount amount = draw_amount(random, period);
  switch (random.below(4)) {
    case 0: {
      Limit limit = bucket(name).amount(amount).per(period);
      limit.burst(random.between(1, 2 * amount));
      return {limit, period};
    }
    case 1:
      return {sliding(name).amount(amount).per(period), period};
    case 2:
      return {calendar(name).amount(amount).per(Unit::kHour).zone("UTC"), hours(1)};
    default:
      return {window(name).amount(amount).per(period), period};
  }
}

// So that `percent` of the limit is asked for.
Duration gap_for(const LimitPlan& limit, Amount amount, std::int64_t percent) {
  const Duration period = limit.definition.kind() == Kind::kCalendar ? kCalendarRush : limit.period;
  return Duration::from_ns(std::max<std::int64_t>(period.ns() * 100 / (amount * percent), 1'000'000));
}

MeterPlan draw_meter(Random& random, const Scenario& scenario, std::size_t limit, std::size_t index) {
  const LimitPlan& plan = scenario.limits[limit];
  MeterPlan meter{.limit = limit, .key = "key" + std::to_string(index)};
  Amount amount = plan.definition.amount();
  if (random.chance(200)) {
    amount = random.between(1, 2 * amount);
    meter.override_amount = amount;
  }
  const bool costs_more = random.chance(300);
  meter.cost_max = costs_more ? random.between(1, std::max<Amount>(1, amount / 3)) : 1;
  meter.mean_gap = gap_for(plan, amount, random.between(30, 300));
  if (costs_more) meter.mean_gap = meter.mean_gap * ((meter.cost_max + 1) / 2);
  meter.mean_gap_after = gap_for(plan, amount, random.between(140, 250));
  if (random.chance(500)) {
    for (std::size_t i = 0; i < scenario.nodes; ++i) meter.node_parts.push_back(random.chance(500) ? 1 : 10);
  }
  return meter;
}

FaultPlan draw_faults(Random& random) {
  FaultPlan faults;
  for (bool* fault : {&faults.loses, &faults.parts, &faults.crashes, &faults.pauses, &faults.store_fails,
                      &faults.redefines, &faults.moves_nodes}) {
    *fault = random.chance(400);
  }
  faults.mean_gap = milliseconds(random.between(200, 1500));
  return faults;
}

}  // namespace

Scenario make_scenario(std::uint64_t seed, std::size_t nodes, Planted planted) {
  Random random(seed ^ 0x5ce7a410);
  Scenario scenario;
  scenario.seed = seed;
  scenario.planted = planted;
  scenario.nodes = static_cast<std::size_t>(random.between(1, 6));
  if (nodes > 0) scenario.nodes = nodes;
  scenario.faults = draw_faults(random);
  scenario.round_trip = milliseconds(random.between(1, 40));
  scenario.tick = milliseconds(random.between(50, 100));
  const std::size_t limits = random.chance(700) ? 1 : 2;
  Duration longest = seconds(2);
  for (std::size_t i = 0; i < limits; ++i) {
    scenario.limits.push_back(draw_limit(random, i));
    if (scenario.limits[i].period < hours(1)) longest = std::max(longest, scenario.limits[i].period);
    const std::size_t keys = random.chance(700) ? 1 : 2;
    for (std::size_t k = 0; k < keys; ++k) scenario.meters.push_back(draw_meter(random, scenario, i, k));
  }
  // Three windows with faults, one in which what they left behind goes by, and at least two whole ones. A calendar's
  // hour ends while there are faults.
  scenario.faults_end = longest * 3;
  scenario.end = std::max<Duration>(longest * 7, scenario.faults_end + kCalendarRush * 3);
  const Duration before_hour = random.between(Duration(seconds(1)), scenario.faults_end);
  scenario.start = kEpoch + Duration::from_ns(-before_hour.ns());
  return scenario;
}

}  // namespace mete::sim
