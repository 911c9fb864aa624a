// Cluster: nodes, their network, the shared store and the load on them, run from beginning to end. Thread safety: one
// thread.
//
//     ├── faults ──────────────┤ all is well again ├─ counted: the last whole window ─┤ nodes stop ┤ the books agree
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lab/sim/ledger.h"
#include "lab/sim/network.h"
#include "lab/sim/node.h"
#include "lab/sim/oracle.h"
#include "lab/sim/scenario.h"
#include "lab/sim/shared_store.h"
#include "lab/sim/world.h"

namespace mete::sim {

class Cluster {
 public:
  Cluster(World& world, const Scenario& scenario);

  // To the end, or to the first violation.
  void run();

  // For faults: the limit, or one key, gets another amount; nodes hear of it within half a second, if they can.
  void redefine(std::size_t limit, const Limit& definition);
  void set_override(std::size_t meter, std::optional<Amount> amount);
  void add_node();
  // With the definitions as they are; nothing if it is up.
  void start_node(std::size_t index);
  [[nodiscard]] Node& node(std::size_t index) { return *nodes_[index]; }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] SharedStore& store() { return store_; }
  [[nodiscard]] bool has_faults() const { return has_faults_; }

  // What was used of what there was, in the time that is counted: in thousandths; the least of all meters. None if
  // nothing was counted.
  [[nodiscard]] std::optional<std::int64_t> utilisation_permille() const { return utilisation_permille_; }
  [[nodiscard]] NodeStatistics statistics() const;

 private:
  struct Counting {
    Instant from;
    Instant until;
  };

  // Every node is up, every link too, the store is fine, and the limits are as they were.
  void heal();
  void ask(std::size_t meter);
  void request(std::size_t meter);
  Node* choose_node(const MeterPlan& plan);
  void change(std::size_t limit, const Action& action);
  void tell_terms(std::size_t limit, std::size_t node);
  [[nodiscard]] Counting counting_of(std::size_t meter) const;
  void count(std::size_t meter);
  [[nodiscard]] Amount spare_of(Kind kind, Amount available, const Counting& counting) const;
  void judge_count(std::size_t meter, const Counting& counting);
  void judge_books();
  void run_until(Instant end);

  World& world_;
  const Scenario& scenario_;
  std::vector<Limit> limits_;  // as they are now
  std::vector<TermsPointer> terms_;
  Ledger ledger_;
  Oracle oracle_;
  SharedStore store_;
  Network network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  // By meter: when counting began, more was in use than the limit, for it was lowered: there is nothing to count.
  std::vector<bool> is_in_debt_;
  bool has_faults_ = true;
  std::optional<std::int64_t> utilisation_permille_;
};

}  // namespace mete::sim
