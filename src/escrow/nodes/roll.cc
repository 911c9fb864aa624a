#include "escrow/nodes/roll.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"
#include "base/random.h"
#include "escrow/nodes/names.h"

namespace mete::escrow {

namespace {

constexpr std::string_view kNodes = "mete.nodes";
constexpr std::string_view kAlive = "mete.alive";
constexpr std::string_view kTag = "mete-cluster";
constexpr std::string_view kTogether = "{mete}";
constexpr std::string_view kClusterKey = "{mete}cluster";
constexpr std::string_view kNamePrefix = "{mete}node:";
constexpr std::string_view kIdentityPrefix = "{mete}id:";
constexpr std::string_view kAddressPrefix = "{mete}at:";
// Above half of the stock, so that a second number does not fit beside the first.
constexpr ClusterNumber kClusterMin = (kAmountMax >> 1) + 1;

std::string key_of(std::string_view prefix, std::string_view text) { return std::string(prefix) + std::string(text); }

template <class T>
tl::unexpected<Error> pass_on(const tl::expected<T, Error>& failed) {
  return tl::make_unexpected(failed.error());
}

// "{mete}NAME:INCARNATION:NUMBER" into the node's name and incarnation.
std::optional<Node> node_of(std::string_view hold_id) {
  if (!hold_id.starts_with(kTogether)) return std::nullopt;
  hold_id.remove_prefix(kTogether.size());
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
  for (const Limit& limit : {stock(std::string(kNodes)).amount(kAmountMax), stock(std::string(kAlive)).amount(1)}) {
    const auto known = store_->limit(limit.name());
    if (!known) return pass_on(known);
    if (*known == limit) continue;
    if (auto defined = store_->define(limit); !defined) return defined;
  }
  return {};
}

Result<std::optional<ClusterNumber>> Roll::cluster() {
  const auto usage = store_->usage({kNodes, kClusterKey});
  if (!usage && usage.error().code == ErrorCode::kNoLimit) return std::nullopt;
  if (!usage) return pass_on(usage);
  return usage->used == 0 ? std::nullopt : std::optional<ClusterNumber>(usage->used);
}

Result<ClusterNumber> Roll::found_cluster() {
  const auto random = static_cast<ClusterNumber>(base::random_number() % static_cast<std::uint64_t>(kClusterMin - 1));
  const Charge charge{kNodes, kClusterKey, kClusterMin + random};
  // Whether it was this node or another one that came first does not matter, nor whether the answer got lost.
  if (const auto taken = store_->take({.charges = {&charge, 1}}); !taken) return pass_on(taken);
  const auto number = cluster();
  if (!number) return pass_on(number);
  if (*number) return **number;
  return tl::make_unexpected(
      Error{ErrorCode::kUnavailable, "the shared store has lost the cluster's number at once: try again"});
}

Result<Incarnation> Roll::next_incarnation(std::string_view name) {
  const std::string key = key_of(kNamePrefix, name);
  const Charge charge{kNodes, key, 1};
  const auto taken = store_->take({.charges = {&charge, 1}});
  if (!taken) return pass_on(taken);
  CHECK(taken->is_allowed && taken->limit == kAmountMax);
  return taken->limit - taken->remaining;
}

Result<Incarnation> Roll::last_incarnation(std::string_view name) {
  const auto usage = store_->usage({kNodes, key_of(kNamePrefix, name)});
  return usage ? Result<Incarnation>(usage->used) : pass_on(usage);
}

Result<std::int64_t> Roll::starts_from(std::string_view identity) {
  const auto usage = store_->usage({kNodes, key_of(kIdentityPrefix, identity)});
  return usage ? Result<std::int64_t>(usage->used) : pass_on(usage);
}

Result<void> Roll::count_start_from(std::string_view identity) {
  const std::string key = key_of(kIdentityPrefix, identity);
  const Charge charge{kNodes, key, 1};
  if (const auto taken = store_->take({.charges = {&charge, 1}}); !taken) return pass_on(taken);
  return {};
}

std::string Roll::hold_id(const Node& node, std::uint64_t number) {
  return std::string(kTogether) + node.name + ":" + std::to_string(node.incarnation) + ":" + std::to_string(number);
}

Result<bool> Roll::enter(const Node& node, std::uint64_t number) {
  const std::string name = key_of(kNamePrefix, node.name);
  const std::string identity = key_of(kIdentityPrefix, node.identity);
  const std::string address = key_of(kAddressPrefix, node.address);
  const std::array charges = {Charge{kAlive, name, 1}, Charge{kAlive, identity, 1}, Charge{kNodes, address, 1}};
  const std::string id = hold_id(node, number);
  const auto held = store_->hold({.charges = charges, .ttl = kAliveFor, .id = id, .tag = kTag});
  return held ? Result<bool>(held->is_allowed) : pass_on(held);
}

Result<void> Roll::extend(std::string_view hold_id) {
  const auto extended = store_->extend(hold_id, kAliveFor);
  if (!extended) return pass_on(extended);
  return {};
}

Result<void> Roll::remove(std::string_view hold_id) {
  const auto cancelled = store_->cancel(hold_id);
  if (cancelled || cancelled.error().code != ErrorCode::kUnavailable) return {};  // gone is gone, in whatever way
  return pass_on(cancelled);
}

Result<std::vector<Presence>> Roll::in_the_way(const Node& node) {
  std::vector<std::string> ids;
  for (const std::string& key : {key_of(kNamePrefix, node.name), key_of(kIdentityPrefix, node.identity)}) {
    const auto found = store_->holds({kAlive, key}, 1);
    if (!found) return pass_on(found);
    for (const std::string& id : *found) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }
  std::vector<Presence> others;
  for (const std::string& id : ids) {
    auto presence = look_up(id);
    if (!presence) return pass_on(presence);
    if (*presence) others.push_back(std::move(**presence));
  }
  return others;
}

Result<std::vector<std::string>> Roll::hold_ids() { return store_->holds_tagged(kTag); }

Result<std::optional<Presence>> Roll::look_up(std::string_view hold_id) {
  const auto hold = store_->find_hold(hold_id);
  if (!hold) return pass_on(hold);
  auto node = node_of(hold_id);
  if (!*hold || (*hold)->state != HoldState::kHeld || !node) return std::nullopt;
  for (const HeldCharge& charge : (*hold)->charges) {
    const std::string_view key = charge.key;
    if (key.starts_with(kIdentityPrefix)) node->identity = key.substr(kIdentityPrefix.size());
    if (key.starts_with(kAddressPrefix)) node->address = key.substr(kAddressPrefix.size());
  }
  return Presence{.hold_id = std::string(hold_id),
                  .node = std::move(*node),
                  .age = (*hold)->age,
                  .expires_in = (*hold)->expires_in};
}

}  // namespace mete::escrow
