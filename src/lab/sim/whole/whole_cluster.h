// WholeCluster: what run_whole() runs; whole.h has what for. Its nodes and their network are in whole.cc, its clients
// and what goes wrong in whole_clients.cc. Thread safety: one thread.
#pragma once

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "core/reserved.h"
#include "escrow/escrow_store.h"
#include "lab/sim/random.h"
#include "lab/sim/whole/account.h"
#include "lab/sim/whole/memory_disk.h"
#include "lab/sim/whole/whole.h"
#include "lab/sim/world.h"
#include "store/embedded/embedded_store.h"

namespace mete::sim::whole {

using escrow::EscrowStore;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr Duration kFaultsFor = seconds(15);
inline constexpr Duration kCalmFor = seconds(8);
inline constexpr Duration kTendEvery = milliseconds(100);
inline constexpr int kDepthMax = 4;  // calls to the shared store that wait at a time
inline constexpr std::string_view kKey = "k";

// The limits of a run. The first three are of scope escrow.
enum Place : std::size_t { kLong, kStocked, kShort, kThere, kHere, kPlaces };

// A clock that runs too fast or too slow, and counts from when its machine was started.
class NodeClock final : public Clock {
 public:
  NodeClock(const Clock& truth, std::int64_t ppm) : truth_(truth), start_(truth.now()), ppm_(ppm) {}
  [[nodiscard]] Instant now() const override {
    const std::int64_t elapsed_ns = (truth_.now() - start_).ns();
    return Instant::from_unix_seconds(1000) + Duration::from_ns(elapsed_ns + elapsed_ns / 1'000'000 * ppm_);
  }

 private:
  const Clock& truth_;
  const Instant start_;
  const std::int64_t ppm_;
};

class WholeCluster {
 public:
  WholeCluster(std::uint64_t seed, WholeBug bug, std::ostream* trace);
  WholeReport run();

 private:
  class Link;
  class Neighbours;
  struct NodeOf {
    std::size_t index = 0;
    std::unique_ptr<NodeClock> clock = {};
    std::unique_ptr<MemoryDisk> disk = {};
    std::unique_ptr<MemoryDisk> old_disk = {};  // for kBooksOld
    std::unique_ptr<EscrowStore> store = {};
    std::uint64_t process = 0;
    bool is_busy = false;      // something of it is under way
    bool is_doomed = false;    // it is to die when that has ended: to the others it is dead now
    bool is_defining = false;  // limits that it has just dropped: it comes to an end with that
    bool is_cut = false;
    int lost_permille = 0;
    bool has_heard = true;       // of the last limit that was dropped and defined again
    bool has_failed = false;     // a call, since the last tend
    bool is_working_on = false;  // while a client of it waits
    bool has_worked_on = false;  // the same, since the last take of several charges began
    Account here;
  };
  struct Held {
    std::size_t place = 0;
    Amount units = 0;
    std::size_t epoch = 0;
    Account::Span span;
  };

  void note(const std::string& text) {
    if (trace_ != nullptr) *trace_ << (clock_.now() - start_).ms() << " ms: " << text << "\n";
  }
  void violate(std::string what) {
    if (report_.violation) return;
    note(what);
    report_.violation = std::move(what);
  }
  [[nodiscard]] bool has(WholeBug bug) const { return bug_ == bug; }
  [[nodiscard]] bool has_faults() const { return clock_.now() - start_ < kFaultsFor; }

  void make_limits();
  Limit& limit(std::size_t place) { return limits_[place]; }
  Account& account(NodeOf& node, std::size_t place) { return place == kHere ? node.here : accounts_[place]; }
  void define_everywhere(NodeOf& node);

  // Lets time pass, and others work.
  void pass(Duration length);
  template <class What>
  Result<typename What::Answer> call(NodeOf& node, std::uint64_t process, const What& operation);
  template <class What>
  Result<typename What::Answer> carry_out(const What& operation);
  // What the node does while a client of it waits for that call.
  template <class What>
  void work_on(NodeOf& node, const What& operation);
  // Of the other nodes that can be reached.
  std::vector<escrow::NodeShare> ask_others(NodeOf& asker, const escrow::ShareQuestion& question);
  // Of what changes a meter of clients.
  template <class What>
  void trace_call(const NodeOf& node, const What& operation, const Result<typename What::Answer>& answer) {
    if constexpr (std::is_same_v<What, core::Take> || std::is_same_v<What, core::Hold> ||
                  std::is_same_v<What, core::Give>) {
      if (trace_ == nullptr || core::is_reserved_limit(operation.charges[0].limit)) return;
      std::string text = "  node " + std::to_string(node.index) + " " + std::string(What::kTraits.name);
      for (const Charge& charge : operation.charges) {
        text += " " + std::string(charge.limit) + " " + std::to_string(charge.cost);
      }
      note(text + " id '" + std::string(operation.id) + "': " + (answer.has_value() ? "done" : answer.error().message));
    }
  }
  template <class What>
  void as_told(const What& operation, Result<typename What::Answer>& answer);

  void start(NodeOf& node);
  void kill(NodeOf& node);
  void bury(NodeOf& node);
  void stop(NodeOf& node);
  void tend(NodeOf& node);
  void tend_again_and_again(std::size_t index);
  // Does something with a node that is up and idle.
  template <class Act>
  void with(NodeOf& node, Act act);
  NodeOf* any_idle();

  void ask_again_and_again();
  void take(NodeOf& node);
  void take_with_id(NodeOf& node);
  void hold(NodeOf& node);
  void settle(NodeOf& node);
  void give(NodeOf& node);
  void attack(NodeOf& node);
  std::vector<std::size_t> choose_places();
  std::vector<Charge> charges_of(const std::vector<std::size_t>& places);
  void tell(NodeOf& node, const std::vector<std::size_t>& places, const std::vector<Charge>& charges,
            const Account::Span& span, const Result<core::Verdict>& verdict, std::size_t epoch);
  // Of which of the limits that had this name it was.
  [[nodiscard]] bool is_in_doubt(const NodeOf& node, std::size_t place, std::size_t epoch) const {
    return place < kThere && (epoch != epoch_ || is_dropping_ || !node.has_heard);
  }
  void lose_what_is_undone(const NodeOf& node, const std::vector<Charge>& charges,
                           const Result<core::Verdict>& verdict);
  void attack_generation(NodeOf& node);
  void undo_by_giving(const std::vector<Charge>& charges, const Result<core::Verdict>& verdict);

  void fault_again_and_again();
  void redefine(NodeOf& node);
  void drop_and_define(NodeOf& node);
  void judge();

  Random random_;
  const WholeBug bug_;
  std::ostream* const trace_;
  const Instant start_;
  ManualClock clock_;
  std::multimap<Instant, Action> events_;
  int depth_ = 0;
  std::unique_ptr<store::EmbeddedStore> shared_;
  std::vector<Limit> limits_;
  std::vector<Account> accounts_;
  std::size_t epoch_ = 0;  // how often limits were dropped
  bool is_dropping_ = false;
  std::vector<std::unique_ptr<MemoryDisk>> graves_;  // disks of nodes that are dead
  std::vector<std::unique_ptr<NodeOf>> nodes_;
  std::map<std::string, Held> held_;
  std::map<std::string, int> drawn_;  // for kDrawWithoutId: how often
  std::uint64_t last_id_ = 0;
  bool is_over_ = false;
  WholeReport report_;
};

class WholeCluster::Link final : public store::StoreOf<Link> {
 public:
  Link(WholeCluster& cluster, NodeOf& node) : cluster_(cluster), node_(node), process_(node.process) {}
  [[nodiscard]] Instant now() const override { return cluster_.clock_.now(); }

 private:
  friend class store::StoreOf<Link>;
  template <class What>
  Result<typename What::Answer> perform(const What& operation, store::Execution& /*execution*/) {
    return cluster_.call(node_, process_, operation);
  }

  WholeCluster& cluster_;
  NodeOf& node_;
  const std::uint64_t process_;
};

class WholeCluster::Neighbours final : public escrow::Others {
 public:
  Neighbours(WholeCluster& cluster, NodeOf& node) : cluster_(cluster), node_(node) {}
  void ask(escrow::ShareQuestion question, Done done) override { done(cluster_.ask_others(node_, question)); }
  void set_peers(std::vector<escrow::PeerAddress> /*peers*/) override {}
  void set_credentials(std::shared_ptr<const escrow::PeerCredentials> /*credentials*/) override {}

 private:
  WholeCluster& cluster_;
  NodeOf& node_;
};

// Not while it changes definitions, which lie in limits of the nodes' own: one at a time does so.
template <class What>
void WholeCluster::work_on(NodeOf& node, const What& operation) {
  if constexpr (std::is_same_v<What, core::Take> || std::is_same_v<What, core::Hold>) {
    const bool is_of_nodes = core::is_reserved_limit(operation.charges[0].limit);
    if (is_of_nodes || node.store == nullptr || node.is_working_on || node.is_defining || !random_.chance(150)) return;
    node.is_working_on = true;
    node.has_worked_on = true;
    if (random_.chance(700)) {
      note("  node " + std::to_string(node.index) + " works on");
      node.store->tend();
    } else {
      const std::string& name = limit(random_.below(3)).name();
      static_cast<void>(node.store->answer(0, {.limit = name, .keys = {std::string(kKey)}, .gives_back = true}));
    }
    node.is_working_on = false;
  }
}

template <class What>
Result<typename What::Answer> WholeCluster::call(NodeOf& node, std::uint64_t process, const What& operation) {
  const auto is_gone = [&] { return process != node.process || node.is_doomed; };
  const auto is_lost = [&] {
    const bool lost = is_gone() || node.is_cut || random_.chance(node.lost_permille);
    node.has_failed = node.has_failed || lost;
    return lost;
  };
  if (is_gone()) return base::unavailable("the node is dead");
  const Duration way = milliseconds(random_.between(0, 8));
  const Duration late =
      random_.chance(has_faults() ? 20 : 0) ? milliseconds(random_.between(0, 1500)) : milliseconds(0);
  if (is_lost()) {
    pass(milliseconds(100));
    return base::unavailable("the request was lost");
  }
  pass(way + late);
  work_on(node, operation);
  if (is_gone()) return base::unavailable("the node is dead");
  auto answer = carry_out(operation);
  trace_call(node, operation, answer);
  if (is_lost()) {
    pass(milliseconds(100));
    return base::unavailable("the answer was lost");
  }
  pass(way);
  if (is_gone()) return base::unavailable("the node is dead");
  as_told(operation, answer);
  return answer;
}

template <class What>
Result<typename What::Answer> WholeCluster::carry_out(const What& operation) {
  if constexpr (std::is_same_v<What, core::Commit> || std::is_same_v<What, core::Cancel>) {
    const bool is_draws = core::is_reserved_id(operation.id);
    if (has(WholeBug::kSettlingLost) && is_draws && random_.chance(200)) return Settlement{};
    if (has(WholeBug::kNothingCommitted) && is_draws) return shared_->cancel(operation.id);
    if (has(WholeBug::kAllCommitted) && is_draws) return shared_->commit({.id = operation.id});
  }
  if constexpr (std::is_same_v<What, core::Hold>) {
    if (has(WholeBug::kGrantedTwice) && core::is_reserved_id(operation.id)) {
      Charge less = operation.charges[0];
      less.cost = (less.cost + 1) / 2;
      What other = operation;
      other.charges = {&less, 1};
      return shared_->run(other);
    }
    if (has(WholeBug::kDrawWithoutId) && core::is_reserved_id(operation.id)) {
      const std::string id = std::string(operation.id) + "." + std::to_string(++drawn_[std::string(operation.id)]);
      What other = operation;
      if (drawn_[std::string(operation.id)] > 1) other.id = id;
      return shared_->run(other);
    }
  }
  if constexpr (std::is_same_v<What, core::Take>) {
    if (has(WholeBug::kTakeWithoutId)) {
      What other = operation;
      other.id = {};
      return shared_->run(other);
    }
  }
  return shared_->run(operation);
}

template <class What>
void WholeCluster::as_told(const What& operation, Result<typename What::Answer>& answer) {
  if (!answer.has_value()) return;
  if constexpr (std::is_same_v<What, core::Hold>) {
    if (!core::is_reserved_id(operation.id)) return;
    if (has(WholeBug::kWindowWithoutEnd)) answer->reset_after = hours(24 * 365);
    if (has(WholeBug::kGrantInvented) && random_.chance(100)) answer->is_allowed = true;
  }
  if constexpr (std::is_same_v<What, core::FindOverride>) {
    if (has(WholeBug::kOneGeneration) && answer->has_value()) answer->emplace(1);
  }
  if constexpr (std::is_same_v<What, core::ReadStatistics>) answer->id_retention = Duration(hours(24));
}

template <class Act>
void WholeCluster::with(NodeOf& node, Act act) {
  if (node.store == nullptr || node.is_busy || node.is_doomed) return;
  node.is_busy = true;
  act(*node.store);
  node.is_busy = false;
  if (node.is_doomed) bury(node);
}

}  // namespace mete::sim::whole
