#include "lab/sim/cluster.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/math.h"
#include "lab/sim/faults.h"

namespace mete::sim {

namespace {

using std::chrono::milliseconds;

constexpr Duration kTermsLateMax = milliseconds(500);
constexpr Duration kTermsRetry = milliseconds(200);
// By then every answer to what was sent before is there, when nothing is wrong.
constexpr Duration kQuiet = milliseconds(700);

constexpr Duration kStopMax = milliseconds(1300);

constexpr Amount kSpareDivisor = 100;
constexpr Amount kSlidingSpareDivisor = 10;
// A smaller bucket is full before a node asks again that was denied.
constexpr Amount kBurstCountedMin = 8;

// Now and then nobody asks for a while, and then many at once.
constexpr int kRushPermille = 30;
constexpr std::int64_t kRushMax = 60;
constexpr Duration kRushGapMax = milliseconds(1500);

TermsPointer terms_for(const Limit& limit) {
  auto terms = escrow::terms_of(limit, 1);
  CHECK(terms);
  return std::make_shared<const escrow::Terms>(*terms);
}

Instant floor_to(Instant time, Duration period) {
  return Instant::from_ns(time.ns() - time.ns() % base::to_unsigned(period.ns()));
}

}  // namespace

Cluster::Cluster(World& world, const Scenario& scenario)
    : world_(world),
      scenario_(scenario),
      ledger_(world, scenario),
      oracle_(world, scenario),
      store_(world, scenario, ledger_),
      network_(world, scenario.round_trip),
      is_in_debt_(scenario.meters.size()) {
  for (const LimitPlan& limit : scenario.limits) {
    limits_.push_back(limit.definition);
    terms_.push_back(terms_for(limit.definition));
  }
  for (std::size_t i = 0; i < scenario.nodes; ++i) add_node();
}

void Cluster::add_node() {
  nodes_.push_back(std::make_unique<Node>(Surroundings{world_, scenario_, ledger_, oracle_, store_, network_},
                                          nodes_.size(), terms_));
  nodes_.back()->start();
}

void Cluster::start_node(std::size_t index) {
  for (std::size_t i = 0; i < terms_.size(); ++i) nodes_[index]->learn(i, terms_[i]);
  nodes_[index]->start();
}

void Cluster::run() {
  Faults faults(*this);
  faults.begin();
  for (std::size_t i = 0; i < scenario_.meters.size(); ++i) {
    ask(i);
    count(i);
  }
  world_.events.at(scenario_.start + scenario_.faults_end, [this] { heal(); });
  run_until(scenario_.start + scenario_.end);
  for (const auto& node : nodes_) node->begin_stop();
  run_until(world_.now() + kQuiet);
  for (const auto& node : nodes_) {
    if (node->is_up()) node->finish_stop();
  }
  run_until(world_.now() + kQuiet);
  if (!world_.violation()) judge_books();
}

void Cluster::run_until(Instant end) {
  while (!world_.violation() && world_.events.step(end)) {
  }
}

// --- Load ------------------------------------------------------------------------------------------------------------

void Cluster::ask(std::size_t meter) {
  const MeterPlan& plan = scenario_.meters[meter];
  const Duration mean = has_faults_ ? plan.mean_gap : plan.mean_gap_after;
  Duration gap = Duration::from_ns(world_.random.between(1, 2 * mean.ns()));
  std::int64_t requests = 1;
  if (has_faults_ && world_.random.chance(kRushPermille)) {
    requests = world_.random.between(2, kRushMax);
    gap = std::min(gap * requests, kRushGapMax);
  }
  world_.events.after(gap, [this, meter, requests] {
    for (std::int64_t i = 0; i < requests; ++i) request(meter);
    ask(meter);
  });
}

void Cluster::request(std::size_t meter) {
  const MeterPlan& plan = scenario_.meters[meter];
  const Amount cost = has_faults_ ? world_.random.between(1, plan.cost_max) : 1;
  if (Node* node = choose_node(plan)) node->request(meter, cost);
}

Node* Cluster::choose_node(const MeterPlan& plan) {
  const auto weight_of = [&](std::size_t node) {
    if (!nodes_[node]->is_taking()) return 0;
    return node < plan.node_parts.size() ? plan.node_parts[node] : 1;
  };
  int total = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) total += weight_of(i);
  if (total == 0) return nullptr;
  std::int64_t chosen = world_.random.between(0, total - 1);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    chosen -= weight_of(i);
    if (chosen < 0) return nodes_[i].get();
  }
  __builtin_unreachable();
}

// --- Changes ---------------------------------------------------------------------------------------------------------

void Cluster::heal() {
  world_.note({"all is well again"});
  has_faults_ = false;
  network_.heal();
  store_.set_health(SharedStore::Health::kFine);
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (!(limits_[i] == scenario_.limits[i].definition)) redefine(i, scenario_.limits[i].definition);
  }
  for (std::size_t i = 0; i < scenario_.meters.size(); ++i) set_override(i, scenario_.meters[i].override_amount);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i]->resume();
    start_node(i);
    world_.events.after(kStopMax, [this, i] { start_node(i); });  // If it was about to stop.
  }
}

void Cluster::redefine(std::size_t limit, const Limit& definition) {
  world_.note({"a limit is redefined", -1, -1, definition.amount()});
  limits_[limit] = definition;
  terms_[limit] = terms_for(definition);
  change(limit, [&] {
    store_.define(definition);
    oracle_.define(definition);
  });
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    world_.events.after(world_.random.between(Duration(), kTermsLateMax), [this, limit, i] { tell_terms(limit, i); });
  }
}

void Cluster::set_override(std::size_t meter, std::optional<Amount> amount) {
  world_.note({"a key's amount is changed", -1, static_cast<int>(meter), amount.value_or(0)});
  change(scenario_.meters[meter].limit, [&] {
    store_.set_override(meter, amount);
    oracle_.set_override(meter, amount);
  });
}

// Whatever the change lowers may be exceeded by what nodes hold at that moment.
void Cluster::change(std::size_t limit, const Action& action) {
  std::vector<Amount> before;
  for (std::size_t i = 0; i < scenario_.meters.size(); ++i) before.push_back(store_.usage(i).limit);
  action();
  const LimitPlan& plan = scenario_.limits[limit];
  const bool is_bucket = plan.definition.kind() == Kind::kBucket;
  for (std::size_t i = 0; i < scenario_.meters.size(); ++i) {
    if (scenario_.meters[i].limit != limit) continue;
    if (!is_bucket && store_.usage(i).limit >= before[i]) continue;
    Amount outstanding = ledger_.on_the_way(i);
    for (const auto& node : nodes_) outstanding += node->usable(i);
    const Instant until = is_bucket ? Instant::max() : floor_to(world_.now(), plan.period) + plan.period;
    oracle_.allow(i, outstanding, until);
  }
}

// Definitions come from the shared store: who is cut off from it hears of them afterwards.
void Cluster::tell_terms(std::size_t limit, std::size_t node) {
  const Network::Link& link = network_.link(node);
  if (link.up && link.down) return nodes_[node]->learn(limit, terms_[limit]);
  world_.events.after(kTermsRetry, [this, limit, node] { tell_terms(limit, node); });
}

// --- Judgement -------------------------------------------------------------------------------------------------------

Cluster::Counting Cluster::counting_of(std::size_t meter) const {
  const LimitPlan& limit = scenario_.limits[scenario_.meters[meter].limit];
  const Instant end = scenario_.start + scenario_.end;
  if (limit.definition.kind() == Kind::kBucket) {
    const Duration spare = std::max(limit.period, terms_for(limit.definition)->ttl);
    return {std::min(scenario_.start + scenario_.faults_end + spare, end), end};
  }
  if (limit.definition.kind() == Kind::kCalendar) return {floor_to(end, limit.period), end};
  const Instant until = floor_to(end, limit.period);
  return {until + Duration::from_ns(-limit.period.ns()), until};
}

void Cluster::count(std::size_t meter) {
  const Counting counting = counting_of(meter);
  world_.events.at(std::max(counting.from, world_.now()), [this, meter] {
    oracle_.restart_count(meter);
    const Usage usage = store_.usage(meter);
    is_in_debt_[meter] = usage.used + usage.held > usage.limit;
  });
  // Just before the end: at the end itself a new window has begun.
  world_.events.at(counting.until + Duration::from_ns(-1), [this, meter, counting] { judge_count(meter, counting); });
}

// What may be left of it: a hundredth, or a unit in each node, or three of a sliding window. Of a bucket and a sliding
// window also what came back at the very end and had nobody to spend it. What a sliding window frees comes unit by
// unit: each waits for the next that asks for it, and comes back so much later.
Amount Cluster::spare_of(Kind kind, Amount available, const Counting& counting) const {
  const Amount part = available / (kind == Kind::kSliding ? kSlidingSpareDivisor : kSpareDivisor);
  const Amount spare = std::max(part, static_cast<Amount>(nodes_.size()) * (kind == Kind::kSliding ? 3 : 1));
  if (kind != Kind::kBucket && kind != Kind::kSliding) return spare;
  const std::int64_t unseen_ns = scenario_.tick.ns() + 2 * scenario_.round_trip.ns();
  return spare + available * unseen_ns / (counting.until - counting.from).ns();
}

void Cluster::judge_count(std::size_t meter, const Counting& counting) {
  const LimitPlan& limit = scenario_.limits[scenario_.meters[meter].limit];
  const Kind kind = limit.definition.kind();
  Amount available = store_.usage(meter).limit;
  Amount used = oracle_.counted(meter);
  if (kind == Kind::kCalendar) {  // Its hour goes on: what nodes hold can still be used.
    used += ledger_.lost(meter);
    for (const auto& node : nodes_) used += node->usable(meter);
  }
  if (kind == Kind::kBucket) {
    if (available < kBurstCountedMin) return;
    const Amount amount = scenario_.meters[meter].override_amount.value_or(limit.definition.amount());
    const std::int64_t counted_ns = (counting.until - counting.from).ns();
    const auto refill = base::multiply(base::to_unsigned(amount), base::to_unsigned(counted_ns));
    available = base::saturate(base::div_floor(refill, base::to_unsigned(limit.period.ns())));
  }
  available = std::min(available, oracle_.possible(meter));  // It may be that less was asked for.
  if (available == 0 || is_in_debt_[meter]) return;
  const std::int64_t permille = used * 1000 / available;
  utilisation_permille_ = std::min(utilisation_permille_.value_or(permille), permille);
  const Amount spare = spare_of(kind, available, counting);
  if (used + spare >= available) return;
  world_.violate("only " + std::to_string(used) + " of " + std::to_string(available) + " of meter " +
                 std::to_string(meter) + ", a " + std::string(to_string(kind)) +
                 ", were used, though more was asked for");
}

// All nodes have given back what they had: what is charged is what was spent, and what was lost with a node.
void Cluster::judge_books() {
  for (std::size_t i = 0; i < scenario_.meters.size(); ++i) {
    const Kind kind = scenario_.limits[scenario_.meters[i].limit].definition.kind();
    if (kind == Kind::kBucket || kind == Kind::kSliding) continue;  // What is used of them changes by itself.
    const Usage usage = store_.usage(i);
    const Amount charged = usage.used + usage.held;
    const Amount spent = oracle_.usage(i).used;
    const Amount lost = ledger_.lost(i);
    if (charged == spent + lost) continue;
    world_.violate("of meter " + std::to_string(i) + " the shared store has charged " + std::to_string(charged) +
                   ", but " + std::to_string(spent) + " were spent and " + std::to_string(lost) + " lost with a node");
  }
}

NodeStatistics Cluster::statistics() const {
  NodeStatistics sum;
  for (const auto& node : nodes_) {
    sum.requests += node->statistics().requests;
    sum.admissions += node->statistics().admissions;
    sum.waits += node->statistics().waits;
  }
  return sum;
}

}  // namespace mete::sim
