#include "lab/sim/shared_store.h"

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"

namespace mete::sim {

namespace {

Error away() { return base::unavailable("the shared store does not answer"); }

}  // namespace

SharedStore::SharedStore(World& world, const Scenario& scenario, Ledger& ledger)
    : world_(world), scenario_(scenario), ledger_(ledger), store_({.clock = &world.clock}) {
  for (const LimitPlan& limit : scenario.limits) define(limit.definition);
  for (std::size_t i = 0; i < scenario.meters.size(); ++i) {
    if (scenario.meters[i].override_amount) set_override(i, scenario.meters[i].override_amount);
  }
}

store::MeterName SharedStore::name_of(std::size_t meter) const {
  const MeterPlan& plan = scenario_.meters[meter];
  return {scenario_.limits[plan.limit].definition.name(), plan.key};
}

void SharedStore::define(const Limit& limit) { CHECK(store_.define(limit)); }

void SharedStore::set_override(std::size_t meter, std::optional<Amount> amount) {
  CHECK(store_.set_override(name_of(meter), amount));
}

Usage SharedStore::usage(std::size_t meter) {
  auto usage = store_.usage(name_of(meter));
  CHECK(usage);
  return *usage;
}

Result<escrow::OrderAnswer> SharedStore::carry_out(const escrow::Order& order, int life, std::size_t meter) {
  if (health_ == Health::kAway) return away();
  const bool is_new_hold = order.kind == escrow::Order::Kind::kDraw && !ledger_.has_hold(order.id);
  if (health_ == Health::kFull && is_new_hold) {
    return base::out_of_memory("the shared store is full");
  }
  ++orders_;
  auto answer = order.kind == escrow::Order::Kind::kDraw  ? draw(order, life, meter)
                : order.kind == escrow::Order::Kind::kAsk ? take(order, meter)
                                                          : settle(order);
  check_books(meter);
  if (health_ == Health::kForgets) return away();
  return answer;
}

// What is charged is what nodes have, have spent or have lost: the rest is free. What a bucket or a sliding window has
// used changes by itself.
void SharedStore::check_books(std::size_t meter) {
  const Kind kind = scenario_.limits[scenario_.meters[meter].limit].definition.kind();
  if (kind != Kind::kWindow && kind != Kind::kCalendar) return;
  const Usage now = usage(meter);
  const Amount granted = ledger_.charged(meter);
  if (now.used + now.held == granted) return;
  world_.violate("of meter " + std::to_string(meter) + " " + std::to_string(now.used + now.held) +
                 " are charged, and nodes were granted " + std::to_string(granted));
}

Result<escrow::OrderAnswer> SharedStore::draw(const escrow::Order& order, int life, std::size_t meter) {
  const bool is_known = ledger_.has_hold(order.id);
  const Usage before = usage(meter);
  const Charge charge{order.limit, order.key, order.amount};
  const auto verdict = TRY(store_.hold({.charges = {&charge, 1}, .ttl = order.ttl, .id = order.id, .tag = "escrow"}));
  const bool is_granted = verdict.is_allowed && !is_known;
  if (is_granted) ledger_.granted(life, meter, order.id, order.amount);
  const Usage after = usage(meter);
  const Amount charged = after.used + after.held - before.used - before.held;
  if (charged != (is_granted ? order.amount : 0)) {
    world_.violate("draw " + order.id + " of " + std::to_string(order.amount) + " charged " + std::to_string(charged) +
                   (is_known ? ", and was granted before" : ""));
  }
  world_.note({verdict.is_allowed ? "grants" : "denies a draw", -1, static_cast<int>(meter), order.amount});
  return escrow::OrderAnswer{.verdict = verdict, .standing = {}, .held = after.held};
}

Result<escrow::OrderAnswer> SharedStore::take(const escrow::Order& order, std::size_t meter) {
  const Charge charge{order.limit, order.key, order.amount};
  const auto verdict = TRY(store_.take({.charges = {&charge, 1}}));
  world_.note({verdict.is_allowed ? "admits" : "denies", -1, static_cast<int>(meter), order.amount});
  return escrow::OrderAnswer{.verdict = verdict};
}

Result<escrow::OrderAnswer> SharedStore::settle(const escrow::Order& order) {
  const auto settlement =
      TRY(order.amount > 0 ? store_.commit({.id = order.id, .amounts = {&order.amount, 1}}) : store_.cancel(order.id));
  ledger_.settled(order.id, order.amount);
  world_.note({"takes back all but", -1, -1, order.amount});
  return escrow::OrderAnswer{.standing = escrow::MeterStanding{settlement.remaining, settlement.limit}};
}

}  // namespace mete::sim
