// Ledger: what the shared store has granted to whom and got back, and what was admitted for it: the truth that no node
// knows. Thread safety: one thread.
//
// A life is a node between its start and its crash or stop. Accounts are kept per life and meter, and of limits that
// have windows only for the present one: what a node has of a window that is over is worth nothing.
#pragma once

#include <mete/limit.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lab/sim/scenario.h"
#include "lab/sim/world.h"

namespace mete::sim {

class Ledger {
 public:
  Ledger(World& world, const Scenario& scenario) : world_(world), scenario_(scenario) {}

  int begin_life();
  void end_life(int life) { lives_[static_cast<std::size_t>(life)].is_over = true; }

  // Whether a hold of that id was granted before.
  [[nodiscard]] bool has_hold(const std::string& id) const { return holds_.contains(id); }
  // What it was granted; 0 if it never was.
  [[nodiscard]] Amount amount_of(const std::string& id) const;
  void granted(int life, std::size_t meter, const std::string& id, Amount amount);
  // The node knows of it.
  void delivered(const std::string& id);
  void settled(const std::string& id, Amount committed);
  void admitted(int life, std::size_t meter, Amount amount);
  // The node has given up a draw that was refused. An earlier request for it may still arrive, and be granted.
  void abandoned(const std::string& id) { abandoned_.insert(id); }

  // What the life may still spend: granted, and neither given back nor spent.
  [[nodiscard]] Amount spendable(int life, std::size_t meter);
  // What was granted in the present window of the meter and not given back, to whichever life.
  [[nodiscard]] Amount charged(std::size_t meter);
  // What lives that are over have taken with them, and what was granted for draws that were given up.
  [[nodiscard]] Amount lost(std::size_t meter);
  // Granted, and on its way to a node that lives.
  [[nodiscard]] Amount on_the_way(std::size_t meter) const;

  // The number of the window that it is; 0 for a bucket.
  [[nodiscard]] std::uint64_t window(std::size_t meter) const;

 private:
  struct Account {
    std::uint64_t window = 0;
    Amount granted = 0;
    Amount returned = 0;
    Amount admitted = 0;
    Amount abandoned = 0;
  };
  struct Life {
    bool is_over = false;
    std::vector<Account> accounts;  // by meter
  };
  struct Hold {
    int life = 0;
    std::size_t meter = 0;
    Amount amount = 0;
    std::uint64_t window = 0;
    bool is_open = true;
    bool is_delivered = false;
  };

  Account& account(int life, std::size_t meter);

  World& world_;
  const Scenario& scenario_;
  std::vector<Life> lives_;
  std::unordered_map<std::string, Hold> holds_;
  std::unordered_set<std::string> abandoned_;
};

}  // namespace mete::sim
