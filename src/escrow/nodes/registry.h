// Registry: this node among the nodes of its cluster. Joins it, keeps saying that this node is alive, knows the others,
// and notices when this node must stop to draw: when another one has come in its place, or the shared store was wiped.
//
//     Joining joining(shared, {.name = …, .remembered = …, .remember = …});
//     while (true) {                                  // the name and the data directory are free: at the first attempt
//       auto joined = joining.attempt();              // an error: this node must not start; it says why
//       if (joined && *joined) break;
//       wait(kRefreshEvery);
//     }
//     every kRefreshEvery: registry.refresh();
//     registry.leave();
//
// Nothing here has a thread or a clock: time is the shared store's. roll.h says how it stands there.
//
// One name is one node, and one data directory is one node. What stands in the way of a start is another node, or this
// one's own predecessor, which was killed and is still taken for alive. With another data directory it is another node,
// and the start is refused. With the same one, Joining looks on for kPredecessorTime: what is heard of in that time is
// alive, and this directory a copy of its own; what is not is cancelled, and fenced: should it come back, its hold is
// gone, a higher incarnation is there, and refresh() tells it so.
//
// What a node has of a stock is in its data directory. So of several copies of one only the one that was started last
// may be started again: the store counts the starts from a directory, and the directory remembers them. It does so
// before the start is counted: a node that is killed between the two is behind by one of its own.
//
// A shared store that goes back to an earlier state, by a backup that was restored or a failover that lost what was
// written last, has forgotten what it granted since. The numbers of starts tell that only where one of the starts was
// lost. So each node raises a number of its own there with every refresh, and remembers the last one that it was told:
// one that is not larger than that is of an earlier state. Whoever finds that tells the others, in the store: it may be
// that nothing of theirs was lost.
//
// Thread safety: one thread at a time. The store is borrowed.
#pragma once

#include <functional>
#include <map>

#include "escrow/nodes/roll.h"

namespace mete::escrow {

// What a node keeps on its disk from one start to the next (memory.h); zeros: it was never in a cluster.
struct Remembered {
  ClusterNumber cluster = 0;
  std::string name = {};  // a node under another name has starts that are counted apart
  Incarnation incarnation = 0;
  std::int64_t starts = 0;  // from this data directory
  std::int64_t beats = 0;   // signs of life of nodes of that name, at least

  bool operator==(const Remembered&) const = default;
};

// How long a predecessor has to be silent.
inline constexpr Duration kPredecessorTime = kRefreshEvery + kRefreshEvery;

enum class Membership : std::uint8_t {
  kMember,
  kFenced,  // another node has the name, and this one's share of it is over
  kWiped,   // the shared store has forgotten what it granted: whoever draws from it now gets it twice
};

struct NodeInfo {
  Node node;
  bool is_self = false;
  Duration clock_ahead =
      {};  // when it was first seen, of the clock by which it goes; zero: of no more than can be told
};

class Registry {
 public:
  // Says that this node is alive, looks whether the store is still the one that it was, and for the others. An error
  // (kUnavailable): the store was not reached, and nothing is known to have changed. kFenced and kWiped are for good:
  // reason() says what to do.
  Result<Membership> refresh();
  // A clean stop: the name is free at once.
  Result<void> leave();

  [[nodiscard]] Membership membership() const { return membership_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const Node& self() const { return self_; }
  [[nodiscard]] const Remembered& remembered() const { return remembered_; }
  // The time by which the store goes, as of the last refresh (Roll::Beat).
  [[nodiscard]] Duration clock() const { return clock_; }
  // All that were alive at the last refresh, by name, with this one.
  [[nodiscard]] std::vector<NodeInfo> nodes() const;

 private:
  friend class Joining;
  Registry(const Roll& roll, Node self, Remembered remembered);

  // After the hold was found gone: while this node was not heard of, or because of another.
  Result<Membership> come_back();
  Result<Membership> stand_aside(Incarnation last);
  Result<void> beat();
  Result<void> count_others();
  [[nodiscard]] std::string hold_id() const { return Roll::hold_id(self_, number_); }
  Membership give_up(Membership membership, std::string reason);

  Roll roll_;
  Node self_;
  Remembered remembered_;
  std::uint64_t number_ = 0;  // of the hold
  Duration clock_;
  std::map<std::string, NodeInfo, std::less<>> others_;  // by the ids of their holds
  Membership membership_ = Membership::kMember;
  std::string reason_;
};

class Joining {
 public:
  struct Options {
    std::string name;      // is_node_name()
    std::string identity;  // of the data directory: random, and the same at every start from it
    std::string address;   // where other nodes find this one; empty: nowhere
    Remembered remembered = {};
    // Puts it on disk: called before the place is this node's. Empty: there is no disk.
    std::function<Result<void>(const Remembered&)> remember = {};
  };

  Joining(store::Store& shared, Options options);

  // None: a predecessor may still be alive; try again after kRefreshEvery. kUnavailable: the store was not reached.
  // Any other error: this node must not start. It draws nothing and changes nothing that others rely on.
  Result<std::optional<Registry>> attempt();

 private:
  // A hold with this directory's identity, as it was first seen.
  struct Sighting {
    Duration age;
    Duration expires_in;
  };

  // The cluster's number, if the store is as this node remembers it, or this node remembers none.
  Result<ClusterNumber> recognise();
  Result<void> check_starts();
  // Where nodes have found that the store went back, and nobody runs any more, who remembers nothing may go on with it.
  Result<void> check_gone_back();
  // A node that goes by another clock, where each node's own counts, would be in another window than the others.
  Result<void> check_clocks();
  // Whether the other has been silent for long enough; an error if it is alive.
  Result<bool> is_silent(const Presence& other);
  Result<std::optional<Registry>> enter(ClusterNumber cluster, const std::vector<Presence>& predecessors);
  Result<void> count_start(ClusterNumber cluster);

  Roll roll_;
  Node self_;
  Remembered remembered_;
  const std::function<Result<void>(const Remembered&)> remember_;
  std::map<std::string, Sighting, std::less<>> sightings_;  // by the ids of holds
};

// Why a node may not start or go on, and what to do about it.
//
// The store is not the one that the node remembers.
std::string wiped(ClusterNumber remembered, std::optional<ClusterNumber> found);
struct Count {
  std::string_view of;     // "starts"
  std::int64_t known = 0;  // to the store
  std::int64_t made = 0;
};
// It is the same, and yet has lost something of this node's: it went back to an earlier state.
std::string went_back(std::string_view name, const Count& count);
std::string others_say_gone_back();
std::string name_taken(const Node& other);
std::string directory_copied(const Node& other);
// It is not running any more.
std::string copy_started();
std::string clocks_differ(const Node& other, Duration by);
std::string fenced(const Node& self, const Node& successor);

}  // namespace mete::escrow
