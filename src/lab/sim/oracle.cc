#include "lab/sim/oracle.h"

#include "base/check.h"

namespace mete::sim {

Oracle::Oracle(World& world, const Scenario& scenario)
    : world_(world),
      scenario_(scenario),
      store_({.clock = &world.clock}),
      ideal_({.clock = &world.clock}),
      meters_(scenario.meters.size()) {
  for (const LimitPlan& limit : scenario.limits) define(limit.definition);
  for (std::size_t i = 0; i < scenario.meters.size(); ++i) {
    if (scenario.meters[i].override_amount) set_override(i, scenario.meters[i].override_amount);
  }
}

store::MeterName Oracle::name_of(std::size_t meter) const {
  const MeterPlan& plan = scenario_.meters[meter];
  return {scenario_.limits[plan.limit].definition.name(), plan.key};
}

void Oracle::define(const Limit& limit) {
  CHECK(store_.define(limit));
  CHECK(ideal_.define(limit));
}

void Oracle::set_override(std::size_t meter, std::optional<Amount> amount) {
  CHECK(store_.set_override(name_of(meter), amount));
  CHECK(ideal_.set_override(name_of(meter), amount));
}

void Oracle::allow(std::size_t meter, Amount amount, Instant until) {
  Meter& its = meters_[meter];
  const Amount before = world_.now() < its.allowed_until ? its.allowance : 0;
  its.allowance = std::max(before, amount);
  its.allowed_until = std::max(its.allowed_until, until);
}

void Oracle::asked(std::size_t meter, Amount amount) {
  const store::MeterName name = name_of(meter);
  const Charge charge{name.limit, name.key, amount};
  const auto verdict = ideal_.take({.charges = {&charge, 1}});
  CHECK(verdict.has_value());
  if (verdict->is_allowed) meters_[meter].possible += amount;
}

void Oracle::admitted(std::size_t meter, Amount amount) {
  Meter& its = meters_[meter];
  its.counted += amount;
  total_ += amount;
  const store::MeterName name = name_of(meter);
  const Charge charge{name.limit, name.key, amount};
  const auto verdict = store_.take({.charges = {&charge, 1}});
  CHECK(verdict.has_value());
  if (verdict->is_allowed) return;
  if (world_.now() < its.allowed_until && amount <= its.allowance) {
    its.allowance -= amount;
    const Kind kind = scenario_.limits[scenario_.meters[meter].limit].definition.kind();
    if (kind != Kind::kBucket) CHECK(store_.take({.charges = {&charge, 1}, .mode = Mode::kForce}).has_value());
    return;
  }
  world_.violate("over the limit: " + std::to_string(amount) + " admitted of " + std::string(name.limit) + " " +
                 std::string(name.key) + ", where " + std::to_string(verdict->remaining) + " of " +
                 std::to_string(verdict->limit) + " remain");
}

Usage Oracle::usage(std::size_t meter) {
  auto usage = store_.usage(name_of(meter));
  CHECK(usage);
  return *usage;
}

}  // namespace mete::sim
