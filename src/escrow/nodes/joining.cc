#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
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
  const auto cluster = recognise();
  if (!cluster) return tl::make_unexpected(cluster.error());
  const auto others = roll_.in_the_way(self_);
  if (!others) return tl::make_unexpected(others.error());
  for (const Presence& other : *others) {
    if (other.node.identity != self_.identity) return base::invalid(name_taken(other.node));
  }
  for (const Presence& other : *others) {
    const auto silent = is_silent(other);
    if (!silent) return tl::make_unexpected(silent.error());
    if (!*silent) return std::nullopt;
  }
  return enter(*cluster, *others);
}

Result<ClusterNumber> Joining::recognise() {
  const auto found = roll_.cluster();
  if (!found) return tl::make_unexpected(found.error());
  if (remembered_.cluster != 0 && *found != remembered_.cluster)
    return base::invalid(wiped(remembered_.cluster, *found));
  if (const auto ready = roll_.prepare(); !ready) return tl::make_unexpected(ready.error());
  if (!*found) return roll_.found_cluster();
  if (const auto ok = check_starts(); !ok) return tl::make_unexpected(ok.error());
  return **found;
}

// Asked before a start is counted: else the count would reach what is remembered after some attempts.
Result<void> Joining::check_starts() {
  if (remembered_.cluster != 0) {
    const auto last = roll_.last_incarnation(remembered_.name);
    if (!last) return tl::make_unexpected(last.error());
    if (*last < remembered_.incarnation)
      return base::invalid(went_back(remembered_.name, {*last, remembered_.incarnation}));
  }
  const auto starts = roll_.starts_from(self_.identity);
  if (!starts) return tl::make_unexpected(starts.error());
  if (*starts > remembered_.starts) return base::invalid(copy_started());
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
  const auto incarnation = roll_.next_incarnation(self_.name);
  if (!incarnation) return tl::make_unexpected(incarnation.error());
  self_.incarnation = *incarnation;
  for (const Presence& predecessor : predecessors) {
    if (const auto removed = roll_.remove(predecessor.hold_id); !removed) {
      return tl::make_unexpected(removed.error());
    }
  }
  const auto entered = roll_.enter(self_, 0);
  if (!entered) return tl::make_unexpected(entered.error());
  if (!*entered) return std::nullopt;  // somebody else was faster: the next attempt sees who
  if (const auto counted = count_start(cluster); !counted) {
    (void)roll_.remove(Roll::hold_id(self_, 0));  // unreachable: it ends by itself
    return tl::make_unexpected(counted.error());
  }
  Registry registry(roll_, self_, remembered_);
  if (const auto counted = registry.count_others(); !counted) return tl::make_unexpected(counted.error());
  return registry;
}

// By now no other node can start from this directory or a copy of it.
Result<void> Joining::count_start(ClusterNumber cluster) {
  remembered_ = {.cluster = cluster, .name = self_.name, .incarnation = self_.incarnation, .starts = 0};
  if (!remember_) return {};
  const auto starts = roll_.starts_from(self_.identity);
  if (!starts) return tl::make_unexpected(starts.error());
  remembered_.starts = *starts + 1;
  if (auto noted = remember_(remembered_); !noted) return noted;
  return roll_.count_start_from(self_.identity);
}

}  // namespace mete::escrow
