#include "lab/sim/ledger.h"

#include "base/check.h"

namespace mete::sim {

int Ledger::begin_life() {
  lives_.emplace_back().accounts.resize(scenario_.meters.size());
  return static_cast<int>(lives_.size()) - 1;
}

std::uint64_t Ledger::window(std::size_t meter) const {
  const LimitPlan& limit = scenario_.limits[scenario_.meters[meter].limit];
  if (limit.definition.kind() == Kind::kBucket) return 0;
  return world_.now().ns() / static_cast<std::uint64_t>(limit.period.ns());
}

Ledger::Account& Ledger::account(int life, std::size_t meter) {
  Account& found = lives_[static_cast<std::size_t>(life)].accounts[meter];
  const std::uint64_t present = window(meter);
  if (found.window != present) found = {.window = present};
  return found;
}

void Ledger::granted(int life, std::size_t meter, const std::string& id, Amount amount) {
  const bool is_new = holds_.emplace(id, Hold{life, meter, amount, window(meter)}).second;
  CHECK(is_new);
  Account& its = account(life, meter);
  its.granted += amount;
  if (abandoned_.contains(id)) its.abandoned += amount;
}

Amount Ledger::amount_of(const std::string& id) const {
  const auto found = holds_.find(id);
  return found == holds_.end() ? 0 : found->second.amount;
}

void Ledger::delivered(const std::string& id) {
  if (const auto found = holds_.find(id); found != holds_.end()) found->second.is_delivered = true;
}

void Ledger::settled(const std::string& id, Amount committed) {
  const auto found = holds_.find(id);
  CHECK(found != holds_.end());
  Hold& hold = found->second;
  if (!hold.is_open) return;
  hold.is_open = false;
  Account& its = account(hold.life, hold.meter);
  if (its.window == hold.window) its.returned += hold.amount - committed;
}

void Ledger::admitted(int life, std::size_t meter, Amount amount) { account(life, meter).admitted += amount; }

Amount Ledger::spendable(int life, std::size_t meter) {
  const Account& its = account(life, meter);
  return its.granted - its.returned - its.admitted - its.abandoned;
}

Amount Ledger::charged(std::size_t meter) {
  Amount sum = 0;
  for (std::size_t i = 0; i < lives_.size(); ++i) {
    const Account& its = account(static_cast<int>(i), meter);
    sum += its.granted - its.returned;
  }
  return sum;
}

Amount Ledger::lost(std::size_t meter) {
  Amount sum = 0;
  for (std::size_t i = 0; i < lives_.size(); ++i) {
    const Amount left = spendable(static_cast<int>(i), meter);
    sum += account(static_cast<int>(i), meter).abandoned + (lives_[i].is_over ? left : 0);
  }
  return sum;
}

Amount Ledger::on_the_way(std::size_t meter) const {
  Amount sum = 0;
  for (const auto& [id, hold] : holds_) {
    const bool is_alive = !lives_[static_cast<std::size_t>(hold.life)].is_over;
    if (hold.meter == meter && hold.is_open && !hold.is_delivered && is_alive) sum += hold.amount;
  }
  return sum;
}

}  // namespace mete::sim
