#include "lab/sim/whole/whole.h"

#include "base/check.h"
#include "base/fixed_random.h"
#include "lab/sim/whole/whole_cluster.h"

namespace mete::sim::whole {

// The middle of an hour, so that an hour's window does not end.
WholeCluster::WholeCluster(std::uint64_t seed, WholeBug bug, std::ostream* trace)
    : random_(seed ^ 0x77e0f1),
      bug_(bug),
      trace_(trace),
      start_(kEpoch + Duration(std::chrono::minutes(30))),
      clock_(start_) {
  const bool forgets = has(WholeBug::kForgottenIds);
  shared_ = std::make_unique<store::EmbeddedStore>(
      Options{.clock = &clock_, .id_retention = forgets ? Duration(seconds(1)) : Duration(hours(24))});
  make_limits();
}

void WholeCluster::make_limits() {
  const bool is_calendar = random_.chance(300);
  const Amount amount = random_.between(5, 120);
  limits_.push_back(is_calendar ? calendar("long").amount(amount).per(Unit::kMonth)
                                : window("long").amount(amount).per(hours(1)).durable(Durable::kAlways));
  limits_.push_back(stock("stock").amount(random_.between(5, 120)));
  const Duration period = milliseconds(random_.between(4, 12) * 500);
  const Amount often = random_.between(3, 60);
  switch (random_.below(3)) {
    case 0:
      limits_.push_back(window("short").amount(often).per(period));
      break;
    case 1:
      limits_.push_back(sliding("short").amount(often).per(period));
      break;
    default:
      limits_.push_back(bucket("short").amount(often).per(period).burst(random_.between(1, 2 * often)));
  }
  for (Limit& each : limits_) each.scope(Scope::kEscrow);
  limits_.push_back(stock("there").amount(random_.between(3, 60)).scope(Scope::kShared));
  limits_.push_back(stock("here").amount(random_.between(3, 60)));
  for (const Limit& each : limits_) accounts_.emplace_back(each);
}

// --- Time and the network --------------------------------------------------------------------------------------------

void WholeCluster::pass(Duration length) {
  const Instant end = clock_.now() + length;
  ++depth_;
  while (depth_ <= kDepthMax && !events_.empty() && events_.begin()->first <= end && !report_.violation) {
    const auto next = events_.extract(events_.begin());
    if (next.key() > clock_.now()) clock_.set(next.key());
    next.mapped()();
  }
  --depth_;
  if (clock_.now() < end) clock_.set(end);
}

std::vector<escrow::NodeShare> WholeCluster::ask_others(NodeOf& asker, const escrow::ShareQuestion& question) {
  std::vector<escrow::NodeShare> sum(question.keys.size());
  pass(milliseconds(random_.between(0, 8)));
  for (const auto& each : nodes_) {
    NodeOf& node = *each;
    const bool is_lost = asker.is_cut || node.is_cut || random_.chance(asker.lost_permille + node.lost_permille);
    if (&node == &asker || is_lost || asker.is_doomed || node.store == nullptr || node.is_doomed) continue;
    // It may be in the midst of something.
    const bool was_busy = std::exchange(node.is_busy, true);
    const auto shares = node.store->answer(0, question);
    node.is_busy = was_busy;
    if (!node.is_doomed) {
      for (std::size_t i = 0; i < sum.size() && shares.has_value(); ++i) sum[i] += (*shares)[i];
    } else if (!was_busy) {
      bury(node);
    }
  }
  pass(milliseconds(random_.between(0, 8)));
  return sum;
}

// --- Nodes -----------------------------------------------------------------------------------------------------------

WholeCluster::NodeOf* WholeCluster::any_idle() {
  NodeOf& node = *nodes_[random_.below(nodes_.size())];
  return node.store == nullptr || node.is_busy || node.is_doomed ? nullptr : &node;
}

void WholeCluster::start(NodeOf& node) {
  if (node.store != nullptr || node.is_busy || is_over_) return;
  node.is_busy = true;
  node.has_failed = false;
  const std::size_t epoch = epoch_;
  ++node.process;
  escrow::EscrowParts parts;
  auto local = store::EmbeddedStore::open({.directory = "/data", .files = node.disk.get(), .has_threads = false},
                                          {.clock = &clock_});
  CHECK(local.has_value());
  parts.local = std::move(*local);
  parts.shared = std::make_unique<Link>(*this, node);
  parts.node = "n" + std::to_string(node.index);
  parts.incarnation = node.process;
  parts.clock = node.clock.get();
  parts.has_threads = false;
  parts.others = std::make_unique<Neighbours>(*this, node);
  auto opened = EscrowStore::open(std::move(parts));
  node.is_busy = false;
  if (node.is_doomed) {
    opened = base::unavailable("it was killed");
    node.is_doomed = false;
  }
  if (!opened.has_value()) {
    events_.emplace(clock_.now() + Duration(milliseconds(200)), [this, &node] { start(node); });
    return;
  }
  note("node " + std::to_string(node.index) + " is up");
  node.store = std::move(*opened);
  node.has_heard = node.has_heard || (!node.has_failed && !is_dropping_ && epoch == epoch_);
}

// What it had in memory is gone; what it was doing ends without anybody hearing of it.
void WholeCluster::kill(NodeOf& node) {
  if (node.is_doomed || node.is_defining || (node.store == nullptr && !node.is_busy)) return;
  const auto end = random_.chance(500) ? MemoryDisk::End::kKilled : MemoryDisk::End::kPowerCut;
  note("node " + std::to_string(node.index) + (end == MemoryDisk::End::kKilled ? " is killed" : " loses its power"));
  auto found = node.disk->after(end);
  if (has(WholeBug::kBooksLost)) found = std::make_unique<MemoryDisk>();
  if (has(WholeBug::kBooksOld) && node.old_disk) found = node.old_disk->after(end);
  if (has(WholeBug::kBooksUnsynced) && end == MemoryDisk::End::kPowerCut && node.old_disk) {
    found = node.old_disk->after(end);
  }
  node.is_doomed = true;
  // The old disk is still written by who does not know yet that he is dead.
  std::swap(node.disk, found);
  graves_.push_back(std::move(found));
  if (!node.is_busy) bury(node);
}

void WholeCluster::bury(NodeOf& node) {
  node.store.reset();
  node.is_doomed = false;
  ++node.process;
  events_.emplace(clock_.now() + Duration(milliseconds(random_.between(1, 2000))), [this, &node] { start(node); });
}

void WholeCluster::stop(NodeOf& node) {
  note("node " + std::to_string(node.index) + " stops");
  node.is_busy = true;
  auto store = std::move(node.store);
  store.reset();
  node.is_busy = false;
  node.is_doomed = false;
}

void WholeCluster::tend(NodeOf& node) {
  with(node, [&](EscrowStore& store) {
    node.has_failed = false;
    const bool is_new = !node.has_heard && !is_dropping_;
    const std::size_t epoch = epoch_;
    store.tend();
    if (is_new && !node.has_failed && epoch == epoch_ && !is_dropping_) node.has_heard = true;
  });
}

void WholeCluster::tend_again_and_again(std::size_t index) {
  if (is_over_) return;
  NodeOf& node = *nodes_[index];
  tend(node);
  const bool needs_old = has(WholeBug::kBooksOld) || has(WholeBug::kBooksUnsynced);
  if (random_.chance(50) && needs_old) node.old_disk = node.disk->after(MemoryDisk::End::kKilled);
  events_.emplace(clock_.now() + kTendEvery, [this, index] { tend_again_and_again(index); });
}

// --- From beginning to end -------------------------------------------------------------------------------------------

void WholeCluster::define_everywhere(NodeOf& node) {
  with(node, [&](EscrowStore& store) {
    for (const Limit& each : limits_) CHECK(store.define(each).has_value());
  });
}

WholeReport WholeCluster::run() {
  const std::size_t count = 1 + random_.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t ppm = has(WholeBug::kSlowClock) ? -500'000 : random_.between(-500, 500);
    nodes_.push_back(std::make_unique<NodeOf>(NodeOf{.index = i, .here = Account(limits_[kHere])}));
    nodes_[i]->clock = std::make_unique<NodeClock>(clock_, ppm);
    nodes_[i]->disk = std::make_unique<MemoryDisk>();
    start(*nodes_[i]);
    define_everywhere(*nodes_[i]);
    tend_again_and_again(i);
  }
  ask_again_and_again();
  fault_again_and_again();
  while (!report_.violation && clock_.now() - start_ < kFaultsFor + kCalmFor) pass(milliseconds(50));
  if (!report_.violation) judge();
  is_over_ = true;
  events_.clear();
  return report_;
}

void WholeCluster::judge() {
  is_over_ = true;
  events_.clear();
  for (const auto& node : nodes_) {
    if (node->store == nullptr) continue;
    const auto here = node->store->usage({limit(kHere).name(), kKey});
    if (here.has_value()) {
      if (auto wrong = node->here.discrepancy(here->used + here->held)) return violate(*wrong);
    }
    if (auto wrong = node->here.excess()) return violate(*wrong);
    stop(*node);
  }
  for (std::size_t place = 0; place < kHere; ++place) {
    if (auto wrong = accounts_[place].excess()) return violate(*wrong);
    if (place == kShort) continue;
    const auto usage = shared_->usage({limit(place).name(), kKey});
    if (!usage.has_value()) return violate("limit " + limit(place).name() + " is gone");
    if (auto wrong = accounts_[place].discrepancy(usage->used + usage->held)) return violate(*wrong);
  }
}

}  // namespace mete::sim::whole

namespace mete::sim {

WholeReport run_whole(std::uint64_t seed, WholeBug bug, std::ostream* trace) {
  const base::FixedRandom fixed(seed);
  return whole::WholeCluster(seed, bug, trace).run();
}

}  // namespace mete::sim
