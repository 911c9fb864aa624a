#include "escrow/nodes/registry.h"
#include "base/try.h"

#include <algorithm>
#include <utility>

namespace mete::escrow {

namespace {

constexpr std::string_view kNothingIsDrawn =
    ". Nothing is drawn from it, for what it granted before would be granted again. Bring back what it had; or, once "
    "all windows that were open then have ended, remove the file 'node' from the data directory of each node and start "
    "them again";

bool is_gone(const Error& error) { return error.code == ErrorCode::kNoHold || error.code == ErrorCode::kExpired; }

}  // namespace

Registry::Registry(const Roll& roll, Node self, Remembered remembered)
    : roll_(roll), self_(std::move(self)), remembered_(std::move(remembered)) {}

Result<Membership> Registry::refresh() {
  if (membership_ != Membership::kMember) return membership_;
  const auto extended = roll_.extend(hold_id());
  if (!extended && !is_gone(extended.error())) return extended.error();
  if (!extended) {
    auto membership = come_back();
    if (!membership || *membership != Membership::kMember) return membership;
  }
  TRY(count_others());
  return membership_;
}

Result<Membership> Registry::come_back() {
  const auto cluster = TRY(roll_.cluster());
  const ClusterNumber own = remembered_.cluster;
  if (cluster != own) return give_up(Membership::kWiped, wiped(own, cluster));
  TRY(roll_.prepare());
  // If the answer gets lost, the next attempt has the same id, and is told what became of this one.
  const auto entered = TRY(roll_.enter(self_, number_ + 1));
  const auto last = TRY(roll_.last_incarnation(self_.name));
  if (last < self_.incarnation) return give_up(Membership::kWiped, went_back(self_.name, {last, self_.incarnation}));
  if (!entered) return stand_aside(last);
  ++number_;
  if (last == self_.incarnation) return Membership::kMember;
  (void)roll_.remove(hold_id());  // unreachable: it ends by itself
  return stand_aside(last);
}

Result<Membership> Registry::stand_aside(Incarnation last) {
  const auto others = TRY(roll_.in_the_way(self_));
  Node successor{.name = self_.name, .incarnation = last, .identity = {}, .address = {}};
  return give_up(Membership::kFenced, fenced(self_, others.empty() ? successor : others.front().node));
}

Result<void> Registry::count_others() {
  const auto ids = TRY(roll_.hold_ids());
  const std::string self_id = hold_id();
  std::map<std::string, Node, std::less<>> present;
  for (const std::string& id : ids) {
    if (id == self_id) continue;
    if (const auto known = others_.find(id); known != others_.end()) {
      present.insert(*known);
      continue;
    }
    auto found = TRY(roll_.look_up(id));
    if (found) present.emplace(id, std::move(found->node));
  }
  others_ = std::move(present);
  return {};
}

Membership Registry::give_up(Membership membership, std::string reason) {
  membership_ = membership;
  reason_ = std::move(reason);
  return membership;
}

Result<void> Registry::leave() {
  if (membership_ != Membership::kMember) return {};
  return roll_.remove(hold_id());
}

std::vector<NodeInfo> Registry::nodes() const {
  std::vector<NodeInfo> all = {{self_, true}};
  for (const auto& [id, node] : others_) all.push_back({node, false});
  std::sort(all.begin(), all.end(),
            [](const NodeInfo& one, const NodeInfo& other) { return one.node.name < other.node.name; });
  return all;
}

std::string wiped(ClusterNumber remembered, std::optional<ClusterNumber> found) {
  return "the shared store is not that of cluster " + std::to_string(remembered) + ", which this node belongs to: " +
         (found ? "it is that of cluster " + std::to_string(*found) : "it knows of no cluster") +
         ". It was wiped, or escrow.shared leads to another one" + std::string(kNothingIsDrawn);
}

std::string went_back(std::string_view name, Starts starts) {
  return "the shared store has gone back to an earlier state: it knows of " + std::to_string(starts.known) +
         " starts of node '" + std::string(name) + "', and there were " + std::to_string(starts.made) +
         std::string(kNothingIsDrawn);
}

std::string name_taken(const Node& other) {
  return "another " + to_string(other) +
         " is running: give this one another name (escrow.node), or wait 5 s if that one has just been killed";
}

std::string directory_copied(const Node& other) {
  return to_string(other) +
         " is running from this data directory or from a copy of it: give each node a directory of its own, and begin "
         "this one with an empty one";
}

std::string copy_started() {
  return "a node has been started from a copy of this data directory since this one was last used, and has gone on "
         "with "
         "what it had: start from that one, or begin with an empty directory";
}

std::string fenced(const Node& self, const Node& successor) {
  return to_string(successor) + " has come in the place of " + to_string(self) +
         " while this one was not heard of: start it again if it is to go on, with a name and a data directory that no "
         "other node has";
}

}  // namespace mete::escrow
