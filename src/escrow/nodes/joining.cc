#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "escrow/nodes/names.h"
#include "escrow/nodes/registry.h"

namespace mete::escrow {

Joining::Joining(store::Store& shared, Options options)
    : roll_(shared),
      self_{.name = std::move(options.name),
            .incarnation = 0,
            .identity = std::move(options.identity),
            .address = std::move(options.address)},
      remembered_(std::move(options.remembered)),
      remember_(std::move(options.remember)) {
  CHECK(is_node_name(self_.name));
  CHECK(!self_.identity.empty());
}

Result<std::optional<Registry>> Joining::attempt() {
  const auto cluster = TRY(recognise());
  TRY(check_gone_back());
  TRY(check_clocks());
  const auto others = TRY(roll_.in_the_way(self_));
  for (const Presence& other : others) {
    if (other.node.identity != self_.identity) return base::invalid(name_taken(other.node));
  }
  for (const Presence& other : others) {
    const auto silent = TRY(is_silent(other));
    if (!silent) return std::nullopt;
  }
  return enter(cluster, others);
}

Result<ClusterNumber> Joining::recognise() {
  const auto found = TRY(roll_.cluster());
  if (remembered_.cluster != 0 && found != remembered_.cluster) return base::invalid(wiped(remembered_.cluster, found));
  TRY(roll_.prepare());
  if (!found) return roll_.found_cluster();
  TRY(check_starts());
  return *found;
}

// Asked before a start is counted: else the count would reach what is remembered after some attempts.
Result<void> Joining::check_starts() {
  if (remembered_.cluster != 0) {
    const auto last = TRY(roll_.last_incarnation(remembered_.name));
    if (last < remembered_.incarnation)
      return base::invalid(went_back(remembered_.name, {"starts", last, remembered_.incarnation}));
    const auto beats = TRY(roll_.beats(remembered_.name));
    if (beats < remembered_.beats)
      return base::invalid(went_back(remembered_.name, {"signs of life", beats, remembered_.beats}));
  }
  const auto starts = TRY(roll_.starts_from(self_.identity));
  if (starts > remembered_.starts) return base::invalid(copy_started());
  return {};
}

Result<void> Joining::check_gone_back() {
  const auto has_gone_back = TRY(roll_.has_gone_back());
  if (!has_gone_back) return {};
  const auto nodes = TRY(roll_.hold_ids());
  if (remembered_.cluster != 0 || !nodes.empty()) return base::invalid(others_say_gone_back());
  return roll_.forget_gone_back();
}

Result<void> Joining::check_clocks() {
  for (const std::string& id : TRY(roll_.hold_ids())) {
    const auto other = TRY(roll_.look_up(id));
    if (!other || other->clock_ahead() <= kClockDifferenceMax) continue;
    return base::invalid(clocks_differ(other->node, other->clock_ahead()));
  }
  return {};
}

Result<bool> Joining::is_silent(const Presence& other) {
  const auto [seen, is_first] = sightings_.try_emplace(other.hold_id, Sighting{other.age, other.expires_in});
  if (is_first) return false;
  const Duration looked_for = Duration::from_ns(other.age.ns() - seen->second.age.ns());
  if (looked_for < kPredecessorTime) return false;
  // Of a silent hold all of the time is gone. One that is extended once in kRefreshEvery has lost no more than that.
  const std::int64_t lost_ns = seen->second.expires_in.ns() - other.expires_in.ns();
  if (lost_ns < (looked_for + kRefreshEvery).ns() / 2) return base::invalid(directory_copied(other.node));
  return true;
}

Result<std::optional<Registry>> Joining::enter(ClusterNumber cluster, const std::vector<Presence>& predecessors) {
  // The incarnation comes first: a predecessor that comes back at this moment sees by it that its time is over.
  self_.incarnation = TRY(roll_.next_incarnation(self_.name));
  for (const Presence& predecessor : predecessors) {
    TRY(roll_.remove(predecessor.hold_id));
  }
  const auto entered = TRY(roll_.enter(self_, 0));
  if (!entered) return std::nullopt;  // somebody else was faster: the next attempt sees who
  if (const auto counted = count_start(cluster); !counted) {
    (void)roll_.remove(Roll::hold_id(self_, 0));  // unreachable: it ends by itself
    return counted.error();
  }
  Registry registry(roll_, self_, remembered_);
  TRY(registry.count_others());
  return registry;
}

// By now no other node can start from this directory or a copy of it.
Result<void> Joining::count_start(ClusterNumber cluster) {
  const auto beats = TRY(roll_.beats(self_.name));
  remembered_ = {.cluster = cluster, .name = self_.name, .incarnation = self_.incarnation, .starts = 0, .beats = beats};
  if (!remember_) return {};
  const auto starts = TRY(roll_.starts_from(self_.identity));
  remembered_.starts = starts + 1;
  TRY(remember_(remembered_));
  return roll_.count_start_from(self_.identity);
}

}  // namespace mete::escrow
