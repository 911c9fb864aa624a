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
  TRY(beat());
  if (membership_ != Membership::kMember) return membership_;
  TRY(count_others());
  return membership_;
}

// A beat whose answer got lost has been counted or not: the next one is larger than the last answer in any case.
Result<void> Registry::beat() {
  const Roll::Beat beat = TRY(roll_.beat(self_.name));
  if (beat.number <= remembered_.beats) {
    give_up(Membership::kWiped, went_back(self_.name, {"signs of life", beat.number - 1, remembered_.beats}));
    (void)roll_.say_gone_back();  // unreachable: each node that has lost something sees it for itself
  } else if (beat.has_gone_back) {
    give_up(Membership::kWiped, others_say_gone_back());
  } else {
    remembered_.beats = beat.number;
    clock_ = beat.clock;
  }
  return {};
}

Result<Membership> Registry::come_back() {
  const auto cluster = TRY(roll_.cluster());
  const ClusterNumber own = remembered_.cluster;
  if (cluster != own) return give_up(Membership::kWiped, wiped(own, cluster));
  TRY(roll_.prepare());
  // If the answer gets lost, the next attempt has the same id, and is told what became of this one.
  const auto entered = TRY(roll_.enter(self_, number_ + 1));
  const auto last = TRY(roll_.last_incarnation(self_.name));
  if (last < self_.incarnation)
    return give_up(Membership::kWiped, went_back(self_.name, {"starts", last, self_.incarnation}));
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
  std::map<std::string, NodeInfo, std::less<>> present;
  for (const std::string& id : ids) {
    if (id == self_id) continue;
    if (const auto known = others_.find(id); known != others_.end()) {
      present.insert(*known);
      continue;
    }
    auto found = TRY(roll_.look_up(id));
    if (!found) continue;
    const Duration ahead = found->clock_ahead();
    present.emplace(id, NodeInfo{.node = std::move(found->node), .is_self = false, .clock_ahead = ahead});
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
  std::vector<NodeInfo> all = {{.node = self_, .is_self = true}};
  for (const auto& [id, info] : others_) all.push_back(info);
  std::sort(all.begin(), all.end(),
            [](const NodeInfo& one, const NodeInfo& other) { return one.node.name < other.node.name; });
  return all;
}

std::string wiped(ClusterNumber remembered, std::optional<ClusterNumber> found) {
  return "the shared store is not that of cluster " + std::to_string(remembered) + ", which this node belongs to: " +
         (found ? "it is that of cluster " + std::to_string(*found) : "it knows of no cluster") +
         ". It was wiped, or escrow.shared leads to another one" + std::string(kNothingIsDrawn);
}

std::string went_back(std::string_view name, const Count& count) {
  return "the shared store has gone back to an earlier state: it knows of " + std::to_string(count.known) + " " +
         std::string(count.of) + " of node '" + std::string(name) + "', and there were " + std::to_string(count.made) +
         std::string(kNothingIsDrawn);
}

std::string others_say_gone_back() {
  return "the shared store has gone back to an earlier state: another node has found that it forgot something" +
         std::string(kNothingIsDrawn);
}

std::string clocks_differ(const Node& other, Duration by) {
  return "the clock by which " + to_string(other) + " goes is ahead of this node's by " + std::to_string(by.seconds()) +
         " s: each would be in another window. Set the machines' clocks right";
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
