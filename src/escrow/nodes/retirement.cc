#include "escrow/nodes/retirement.h"

#include <algorithm>
#include <mutex>

#include "base/try.h"
#include "escrow/nodes/roll.h"

namespace mete::escrow {

std::string Retirement::tag_of(std::string_view node) { return "mete-share:" + std::string(node); }

// Draws that were on their way when they were listed are found by the call that finds no others.
Result<Retired> Retirement::settle_some(std::string_view node) {
  const std::scoped_lock lock(mutex_);
  const Instant begun_at = clock_.now();
  if (node_ != node || left_.empty()) {
    left_ = TRY(store_.holds_tagged(tag_of(node)));
    node_ = node;
  }
  Retired retired;
  while (!left_.empty() && retired.lots < kLotsAtOnce && clock_.now() - begun_at < kTimeAtOnce) {
    TRY(settle(left_.back(), retired));
    left_.pop_back();
  }
  retired.left = left_.size();
  return retired;
}

Result<void> Retirement::settle(const std::string& id, Retired& retired) {
  const auto hold = TRY(store_.find_hold(id));
  if (!hold || hold->state != HoldState::kHeld) return {};
  const auto settled = store_.commit({.id = id});
  if (!settled && settled.error().code == ErrorCode::kUnavailable) return settled.error();
  if (!settled) return {};
  ++retired.lots;
  for (const HeldCharge& charge : hold->charges) retired.units += charge.amount;
  return {};
}

Result<std::vector<std::string>> Retirement::away(const std::vector<NodeInfo>& alive) {
  std::vector<std::string> away;
  for (std::string& name : TRY(Roll(store_).names(kNodesMax))) {
    const auto is_it = [&](const NodeInfo& each) { return each.node.name == name; };
    if (std::any_of(alive.begin(), alive.end(), is_it)) continue;
    const auto draws = TRY(store_.holds_tagged(tag_of(name)));
    if (!draws.empty()) away.push_back(std::move(name));
  }
  return away;
}

}  // namespace mete::escrow
