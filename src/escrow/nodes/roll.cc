#include "escrow/nodes/roll.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"
#include "base/try.h"
#include "escrow/nodes/names.h"

namespace mete::escrow {

namespace {

constexpr std::string_view kNodes = "mete.nodes";
constexpr std::string_view kAlive = "mete.alive";
constexpr std::string_view kClock = "mete.clock";
constexpr std::string_view kTag = "mete-cluster";
constexpr std::string_view kHoldPrefix = "{mete}mete-";
constexpr std::string_view kClusterKey = "{mete}cluster";
constexpr std::string_view kGoneBackKey = "{mete}gone-back";
constexpr std::string_view kNamePrefix = "{mete}node:";
constexpr std::string_view kIdentityPrefix = "{mete}id:";
constexpr std::string_view kBeatPrefix = "{mete}beat:";
constexpr std::string_view kAddressPrefix = "{mete}at:";
constexpr std::size_t kPage = 1000;
// Above half of the stock, so that a second number does not fit beside the first.
constexpr ClusterNumber kClusterMin = (kAmountMax >> 1) + 1;

std::string key_of(std::string_view prefix, std::string_view text) { return std::string(prefix) + std::string(text); }

// "{mete}mete-NAME:INCARNATION:NUMBER" into the node's name and incarnation.
std::optional<Node> node_of(std::string_view hold_id) {
  if (!hold_id.starts_with(kHoldPrefix)) return std::nullopt;
  hold_id.remove_prefix(kHoldPrefix.size());
  const std::size_t colon = hold_id.find(':');
  if (colon == std::string_view::npos || !is_node_name(hold_id.substr(0, colon))) return std::nullopt;
  Node node{.name = std::string(hold_id.substr(0, colon)), .incarnation = 0, .identity = {}, .address = {}};
  hold_id.remove_prefix(colon + 1);
  const char* const end = hold_id.data() + hold_id.size();
  const auto read = std::from_chars(hold_id.data(), end, node.incarnation);
  const bool is_good = read.ec == std::errc() && node.incarnation > 0 && read.ptr != end && *read.ptr == ':';
  return is_good ? std::optional(node) : std::nullopt;
}

}  // namespace

std::string to_string(const Node& node) {
  return "node '" + node.name + "' (incarnation " + std::to_string(node.incarnation) +
         (node.address.empty() ? "" : ", at " + node.address) + ")";
}

Result<void> Roll::prepare() {
  for (const Limit& limit : {stock(std::string(kNodes)).amount(kAmountMax), stock(std::string(kAlive)).amount(1),
                             window(std::string(kClock)).amount(kAmountMax).per(kClockPeriod)}) {
    const auto known = TRY(store_->limit(limit.name()));
    if (known == limit) continue;
    TRY(store_->define(limit));
  }
  return {};
}

Result<std::optional<ClusterNumber>> Roll::cluster() {
  const auto usage = store_->usage({kNodes, kClusterKey});
  if (!usage && usage.error().code == ErrorCode::kNoLimit) return std::nullopt;
  if (!usage) return usage.error();
  return usage->used == 0 ? std::nullopt : std::optional<ClusterNumber>(usage->used);
}

Result<ClusterNumber> Roll::found_cluster() {
  const auto random = static_cast<ClusterNumber>(base::random_number() % static_cast<std::uint64_t>(kClusterMin - 1));
  const Charge charge{kNodes, kClusterKey, kClusterMin + random};
  // Whether it was this node or another one that came first does not matter, nor whether the answer got lost.
  TRY(store_->take({.charges = {&charge, 1}}));
  const auto number = TRY(cluster());
  if (number) return *number;
  return base::unavailable("the shared store has lost the cluster's number at once: try again");
}

Result<std::int64_t> Roll::count_one_more(std::string_view key) {
  const Charge charge{kNodes, key, 1};
  const auto taken = TRY(store_->take({.charges = {&charge, 1}}));
  CHECK(taken.is_allowed && taken.limit == kAmountMax);
  return taken.limit - taken.remaining;
}

Result<Incarnation> Roll::next_incarnation(std::string_view name) { return count_one_more(key_of(kNamePrefix, name)); }

Result<Incarnation> Roll::last_incarnation(std::string_view name) {
  return TRY(store_->usage({kNodes, key_of(kNamePrefix, name)})).used;
}

Result<std::vector<std::string>> Roll::names(std::size_t count_max) {
  std::vector<std::string> names;
  std::uint64_t cursor = 0;
  do {
    const auto page = TRY(store_->scan(kNodes, cursor, kPage));
    for (const KeyUsage& each : page.keys) {
      const std::string_view key = each.key;
      const bool is_name = key.starts_with(kNamePrefix) && names.size() < count_max;
      if (is_name) names.emplace_back(key.substr(kNamePrefix.size()));
    }
    cursor = page.cursor;
  } while (cursor != 0);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::int64_t> Roll::starts_from(std::string_view identity) {
  return TRY(store_->usage({kNodes, key_of(kIdentityPrefix, identity)})).used;
}

Result<void> Roll::count_start_from(std::string_view identity) {
  TRY(count_one_more(key_of(kIdentityPrefix, identity)));
  return {};
}

Result<Roll::Beat> Roll::beat(std::string_view name) {
  const std::string key = key_of(kBeatPrefix, name);
  const std::array charges = {Charge{kNodes, key, 1}, Charge{kClock, key, 1}, Charge{kNodes, kGoneBackKey, 0}};
  std::array<Usage, charges.size()> usages;
  const auto taken = TRY(store_->take({.charges = charges, .usages = usages}));
  CHECK(taken.is_allowed);
  return Beat{.number = usages[0].used,
              .clock = Duration::from_ns(kClockPeriod.ns() - usages[1].reset_after.ns()),
              .has_gone_back = usages[2].used > 0};
}

Result<std::int64_t> Roll::beats(std::string_view name) {
  return TRY(store_->usage({kNodes, key_of(kBeatPrefix, name)})).used;
}

Result<void> Roll::say_gone_back() {
  TRY(count_one_more(kGoneBackKey));
  return {};
}

Result<bool> Roll::has_gone_back() { return TRY(store_->usage({kNodes, kGoneBackKey})).used > 0; }

Result<void> Roll::forget_gone_back() {
  const auto said = TRY(store_->usage({kNodes, kGoneBackKey})).used;
  const Charge charge{kNodes, kGoneBackKey, said};
  if (said > 0) TRY(store_->give({&charge, 1}, {}));
  return {};
}

std::string Roll::hold_id(const Node& node, std::uint64_t number) {
  return std::string(kHoldPrefix) + node.name + ":" + std::to_string(node.incarnation) + ":" + std::to_string(number);
}

Result<bool> Roll::enter(const Node& node, std::uint64_t number) {
  const std::string name = key_of(kNamePrefix, node.name);
  const std::string identity = key_of(kIdentityPrefix, node.identity);
  const std::string address = key_of(kAddressPrefix, node.address);
  const std::array charges = {Charge{kAlive, name, 1}, Charge{kAlive, identity, 1}, Charge{kNodes, address, 1}};
  const std::string id = hold_id(node, number);
  return TRY(store_->hold({.charges = charges, .ttl = kAliveFor, .id = id, .tag = kTag})).is_allowed;
}

Result<void> Roll::extend(std::string_view hold_id) {
  TRY(store_->extend(hold_id, kAliveFor));
  return {};
}

Result<void> Roll::remove(std::string_view hold_id) {
  const auto cancelled = store_->cancel(hold_id);
  if (cancelled || cancelled.error().code != ErrorCode::kUnavailable) return {};  // gone is gone, in whatever way
  return cancelled.error();
}

Result<std::vector<Presence>> Roll::in_the_way(const Node& node) {
  std::vector<std::string> ids;
  for (const std::string& key : {key_of(kNamePrefix, node.name), key_of(kIdentityPrefix, node.identity)}) {
    const auto found = TRY(store_->holds({kAlive, key}, 1));
    for (const std::string& id : found) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }
  std::vector<Presence> others;
  for (const std::string& id : ids) {
    auto presence = TRY(look_up(id));
    if (presence) others.push_back(std::move(*presence));
  }
  return others;
}

Result<std::vector<std::string>> Roll::hold_ids() { return store_->holds_tagged(kTag); }

Result<std::optional<Presence>> Roll::look_up(std::string_view hold_id) {
  const auto hold = TRY(store_->find_hold(hold_id));
  auto node = node_of(hold_id);
  if (!hold || hold->state != HoldState::kHeld || !node) return std::nullopt;
  for (const HeldCharge& charge : hold->charges) {
    const std::string_view key = charge.key;
    if (key.starts_with(kIdentityPrefix)) node->identity = key.substr(kIdentityPrefix.size());
    if (key.starts_with(kAddressPrefix)) node->address = key.substr(kAddressPrefix.size());
  }
  return Presence{
      .hold_id = std::string(hold_id), .node = std::move(*node), .age = hold->age, .expires_in = hold->expires_in};
}

}  // namespace mete::escrow
