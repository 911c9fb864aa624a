// The clients of a simulated cluster, friendly and hostile, and what goes wrong around them.
#include <algorithm>
#include <array>

#include "lab/sim/whole/whole_cluster.h"
#include "store/caller.h"

namespace mete::sim::whole {

namespace {

constexpr int kAsksMax = 20;  // of an operation with an id

}  // namespace

// --- Clients ---------------------------------------------------------------------------------------------------------

std::vector<std::size_t> WholeCluster::choose_places() {
  std::vector<std::size_t> places;
  const std::size_t count = random_.chance(600) ? 1 : 2 + random_.below(2);
  while (places.size() < count) {
    const std::size_t place = random_.below(places.empty() && count == 1 ? 3 : static_cast<std::size_t>(kPlaces));
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  }
  return places;
}

// Whoever began before a limit was dropped may have been decided then, and a node that has not heard of it goes on for
// a moment: that counts for neither.
void WholeCluster::tell(NodeOf& node, const std::vector<std::size_t>& places, const std::vector<Charge>& charges,
                        const Account::Span& span, const Result<core::Verdict>& verdict, std::size_t epoch) {
  ++report_.operations;
  if (trace_ != nullptr) {
    std::string text = "node " + std::to_string(node.index) + " takes";
    for (const Charge& charge : charges) text += " " + std::string(charge.limit) + " " + std::to_string(charge.cost);
    note(text +
         (verdict.has_value() ? (verdict->is_allowed ? ": admitted" : ": denied") : ": " + verdict.error().message));
  }
  const bool is_admitted = verdict.has_value() && verdict->is_allowed;
  if (is_admitted) ++report_.admissions;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t place = places[i];
    const bool is_dropped = is_in_doubt(node, place, epoch);
    const Amount units = is_admitted && charges.size() == 1 ? verdict->taken : charges[i].cost;
    Account& its = account(node, place);
    if (is_admitted && !is_dropped) its.admitted(span, units);
    const bool is_unknown = !verdict.has_value() && verdict.error().code == ErrorCode::kUnavailable;
    if (is_unknown || (is_admitted && is_dropped)) its.maybe_admitted(units);
  }
  if (verdict.has_value() || verdict.error().code == ErrorCode::kUnavailable) return;
  if (verdict.error().code != ErrorCode::kNoLimit) violate("a take is refused: " + verdict.error().message);
}

void WholeCluster::undo_by_giving(const std::vector<Charge>& charges, const Result<core::Verdict>& verdict) {
  if (!has(WholeBug::kUndoByGiving) || charges.size() < 2 || !verdict.has_value() || verdict->is_allowed) return;
  for (const Charge& charge : charges) {
    if (charge.limit == "short" || charge.limit == "stock") static_cast<void>(shared_->give({&charge, 1}, {}));
  }
}

void WholeCluster::lose_what_is_undone(const NodeOf& node, const std::vector<Charge>& charges,
                                       const Result<core::Verdict>& verdict) {
  if (!has(WholeBug::kUndoLost) || charges.size() < 2 || !verdict.has_value() || verdict->is_allowed) return;
  if (!node.has_worked_on) return;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const bool is_spent = charges[i].limit == "long" && !verdict->is_violated_by(i);
    if (is_spent) static_cast<void>(shared_->take({.charges = {&charges[i], 1}, .mode = Mode::kForce}));
  }
}

std::vector<Charge> WholeCluster::charges_of(const std::vector<std::size_t>& places) {
  std::vector<Charge> charges;
  charges.reserve(places.size());
  for (const std::size_t place : places) charges.push_back({limit(place).name(), kKey, random_.between(1, 3)});
  return charges;
}

void WholeCluster::take(NodeOf& node) {
  const auto places = choose_places();
  const auto charges = charges_of(places);
  const bool is_up_to = charges.size() == 1 && random_.chance(200);
  const std::size_t epoch = epoch_;
  Account::Span span{clock_.now(), {}};
  with(node, [&](EscrowStore& store) {
    node.has_worked_on = false;
    const auto verdict = store.take({.charges = charges, .mode = is_up_to ? Mode::kUpTo : Mode::kTake});
    span.told = clock_.now();
    undo_by_giving(charges, verdict);
    lose_what_is_undone(node, charges, verdict);
    const Error dead = base::unavailable("it is dead");
    tell(node, places, charges, span, node.is_doomed ? Result<core::Verdict>(dead) : verdict, epoch);
  });
}

// Asked again until there is an answer.
void WholeCluster::take_with_id(NodeOf& node) {
  const auto places = choose_places();
  const auto charges = charges_of(places);
  const std::string id = "u" + std::to_string(++last_id_);
  const std::size_t epoch = epoch_;
  Account::Span span{clock_.now(), {}};
  with(node, [&](EscrowStore& store) {
    Result<core::Verdict> verdict = base::unavailable("nobody was asked");
    for (int i = 0; i < kAsksMax && !node.is_doomed; ++i) {
      verdict = store.take({.charges = charges, .id = id});
      if (verdict.has_value() || verdict.error().code != ErrorCode::kUnavailable) break;
      pass(milliseconds(random_.between(1, 400)));
    }
    span.told = clock_.now();
    const Error dead = base::unavailable("it is dead");
    tell(node, places, charges, span, node.is_doomed ? Result<core::Verdict>(dead) : verdict, epoch);
  });
}

void WholeCluster::hold(NodeOf& node) {
  const std::size_t place = random_.below(kThere + 1);
  const Charge charge{limit(place).name(), kKey, random_.between(1, 3)};
  const std::string id = "u" + std::to_string(++last_id_);
  const std::size_t epoch = epoch_;
  Account::Span span{clock_.now(), {}};
  with(node, [&](EscrowStore& store) {
    auto verdict = store.hold({.charges = {&charge, 1}, .ttl = hours(1), .id = id});
    span.told = clock_.now();
    if (node.is_doomed) verdict = base::unavailable("it is dead");
    if (verdict.has_value() && verdict->is_allowed) {
      verdict->taken = charge.cost;
      held_[id] = {place, charge.cost, epoch, span};
    }
    tell(node, {place}, {charge}, span, verdict, epoch);
  });
}

// What is cancelled goes back, unless the window that it was held in is over.
void WholeCluster::settle(NodeOf& node) {
  if (held_.empty()) return;
  auto its = held_.begin();
  std::advance(its, static_cast<std::ptrdiff_t>(random_.below(held_.size())));
  const std::string id = its->first;
  const auto held = its->second;
  held_.erase(its);
  const Amount kept = random_.between(0, held.units);
  Account::Span span{clock_.now(), {}};
  with(node, [&](EscrowStore& store) {
    auto settled = kept == 0 ? store.cancel(id) : store.commit({.id = id, .amounts = {&kept, 1}});
    span.told = clock_.now();
    const Amount back = held.units - kept;
    Account& account = accounts_[held.place];
    const bool is_dropped = is_in_doubt(node, held.place, held.epoch);
    if (is_dropped && held.epoch == epoch_) account.maybe_given_back(back);
    if (is_dropped || back == 0) return;
    const bool is_known = settled.has_value() && !node.is_doomed;
    if (is_known) return account.given_back({std::min(held.span.asked, span.asked), span.told}, back);
    account.maybe_given_back(back);
  });
}

void WholeCluster::give(NodeOf& node) {
  const std::array places = {kStocked, kThere, kHere};
  const std::size_t place = places[random_.below(places.size())];
  const Charge charge{limit(place).name(), kKey, random_.between(1, 3)};
  const std::size_t epoch = epoch_;
  Account::Span span{clock_.now(), {}};
  with(node, [&](EscrowStore& store) {
    const auto given = store.give({&charge, 1}, {});
    span.told = clock_.now();
    Account& its = account(node, place);
    const bool is_dropped = is_in_doubt(node, place, epoch);
    const bool is_known = given.has_value() && !node.is_doomed && !is_dropped;
    if (is_known) return its.given_back(span, given->amount);
    its.maybe_given_back(charge.cost);
  });
}

// Whoever knows every id: of what nodes keep for themselves clients see nothing, and end nothing.
void WholeCluster::attack(NodeOf& node) {
  store::Execution execution;
  const store::MeterName meter{limit(random_.below(3)).name(), kKey};
  const auto run = [&](store::Store& store, const auto& operation) {
    return has(WholeBug::kDrawsForAll) ? store.run(operation, execution)
                                       : store::run_for_client(store, operation, execution);
  };
  const auto ids = shared_->holds(meter, 100);
  if (!ids.has_value()) return;
  const auto seen = run(*shared_, core::ListHolds{meter, 100});
  for (const std::string& id : *ids) {
    if (!core::is_reserved_id(id)) continue;
    static_cast<void>(run(*shared_, core::Cancel{id}));
    if (seen.has_value() && std::find(seen->begin(), seen->end(), id) != seen->end() && !has(WholeBug::kDrawsForAll)) {
      violate("a client sees the draw " + id);
    }
    with(node, [&](EscrowStore& store) { static_cast<void>(run(store, core::Commit{.id = id})); });
  }
}

// The amount of that key is a number, and no bound.
void WholeCluster::attack_generation(NodeOf& node) {
  store::Execution execution;
  const Charge charge{limit(random_.below(3)).name(), core::kGenerationKey, 1'000};
  const auto try_on = [&](store::Store& store) {
    const auto run = [&](const auto& operation) {
      const auto answer = has(WholeBug::kGenerationForAll) ? store.run(operation, execution)
                                                           : store::run_for_client(store, operation, execution);
      if (answer.has_value()) violate("a client reaches the key of a generation");
    };
    run(core::Take{.charges = {&charge, 1}});
    run(core::Hold{.charges = {&charge, 1}, .ttl = hours(1), .id = "generation"});
    run(core::Give{.charges = {&charge, 1}});
    run(core::ReadUsage{{charge.limit, charge.key}});
  };
  try_on(*shared_);
  with(node, [&](EscrowStore& store) { try_on(store); });
}

void WholeCluster::ask_again_and_again() {
  if (is_over_) return;
  events_.emplace(clock_.now() + Duration(milliseconds(random_.between(1, 60))), [this] { ask_again_and_again(); });
  NodeOf* const node = any_idle();
  if (node == nullptr) return;
  const std::uint64_t choice = random_.below(100);
  if (choice < 60) return take(*node);
  if (choice < 72) return take_with_id(*node);
  if (choice < 80) return hold(*node);
  if (choice < 87) return settle(*node);
  if (choice < 96) return give(*node);
  if (!has_faults()) return;
  if (random_.chance(200)) return attack_generation(*node);
  attack(*node);
}

// --- Faults ----------------------------------------------------------------------------------------------------------

void WholeCluster::redefine(NodeOf& node) {
  const std::size_t place = random_.below(3);
  Limit changed = limit(place);
  changed.amount(random_.between(1, 120));
  with(node, [&](EscrowStore& store) {
    accounts_[place].raise_to(changed);
    const bool is_done = store.define(changed).has_value();
    accounts_[place].raise_to(changed);  // Another node may have dropped it meanwhile.
    if (is_done) limits_[place] = changed;
  });
}

// All of scope escrow, so that one number tells which ones it is of.
void WholeCluster::drop_and_define(NodeOf& node) {
  if (!node.has_heard || is_dropping_) return;
  with(node, [&](EscrowStore& store) {
    note("limits are dropped and defined again");
    node.is_defining = true;
    ++epoch_;
    is_dropping_ = true;
    for (std::size_t place = 0; place < kThere; ++place) {
      while (!store.drop(limit(place).name()).has_value()) pass(milliseconds(50));
      accounts_[place] = Account(limit(place));
      while (!store.define(limit(place)).has_value()) pass(milliseconds(50));
    }
    node.is_defining = false;
    is_dropping_ = false;
    for (const auto& each : nodes_) each->has_heard = false;
    std::erase_if(held_, [](const auto& entry) { return entry.second.place < kThere; });
  });
}

void WholeCluster::fault_again_and_again() {
  if (!has_faults()) {
    note("all is well again");
    for (const auto& node : nodes_) {
      node->is_cut = false;
      node->lost_permille = 0;
    }
    return;
  }
  events_.emplace(clock_.now() + Duration(milliseconds(random_.between(50, 1500))),
                  [this] { fault_again_and_again(); });
  NodeOf& node = *nodes_[random_.below(nodes_.size())];
  const std::uint64_t choice = random_.below(100);
  if (choice < 25) {
    node.lost_permille = random_.chance(500) ? static_cast<int>(random_.between(1, 250)) : 0;
  } else if (choice < 45) {
    node.is_cut = true;
    events_.emplace(clock_.now() + Duration(milliseconds(random_.between(50, 3000))), [&node] { node.is_cut = false; });
  } else if (choice < 70) {
    kill(node);
  } else if (choice < 80) {
    if (node.store == nullptr || node.is_busy || node.is_doomed) return;
    stop(node);
    start(node);
  } else if (choice < 92) {
    redefine(node);
  } else {
    drop_and_define(node);
  }
}

}  // namespace mete::sim::whole
