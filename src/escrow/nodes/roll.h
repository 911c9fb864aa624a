// Roll: how the nodes of a cluster stand in the store that they share: as meters and holds of two reserved limits.
//
//     mete.nodes   stock, without end
//       {mete}cluster        used: the cluster's number, from 2^52 on, written once by its first node
//       {mete}node:NAME      used: how often a node of that name has started; the last start's is its incarnation
//       {mete}id:IDENTITY    used: how often a node has started from that data directory
//       {mete}beat:NAME      used: how often a node of that name has said that it is alive
//       {mete}gone-back      used, if a node has found that the store went back to an earlier state
//       {mete}at:ADDRESS     held by who is found there
//     mete.clock   window of a year: by when it ends, nodes know the time by which the store goes
//       {mete}beat:NAME      used: as in mete.nodes
//     mete.alive   stock of 1: whoever holds it keeps others out
//       {mete}node:NAME      held by the node of that name
//       {mete}id:IDENTITY    held by the node with that data directory
//
// A node that is alive has one hold of its name, its identity and its address, with a TTL that it extends all the time.
// Its id is {mete}mete-NAME:INCARNATION:NUMBER and its tag mete-cluster, so that one call lists all nodes. The text in
// braces puts everything on one server where keys are spread over several (store/hash_tag.h): one hold cannot span two.
// Thread safety: as the store, which is borrowed.
#pragma once

#include <mete/result.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace mete::escrow {

// How long a node that is not heard of is taken for alive.
inline constexpr Duration kAliveFor = std::chrono::seconds(5);
// How often it has to be heard of: several times in that.
inline constexpr Duration kRefreshEvery = std::chrono::seconds(1);

// The longest that a window can be.
inline constexpr Duration kClockPeriod = std::chrono::hours(24 * 366);
// By how much the clocks may differ by which nodes go, where it is not one clock for all (etcd).
inline constexpr Duration kClockDifferenceMax = std::chrono::seconds(2);

// 1, 2, 3, … for each start of a node of one name.
using Incarnation = std::int64_t;
// Of the cluster, at random: another one is another store, or the same after it was wiped.
using ClusterNumber = std::int64_t;

struct Node {
  std::string name;
  Incarnation incarnation = 0;
  std::string identity;  // of its data directory
  std::string address;   // where other nodes find it; empty: nowhere

  bool operator==(const Node&) const = default;
};

// A node as it stands in the store.
struct Presence {
  std::string hold_id;
  Node node;
  Duration age;  // since it has come
  Duration expires_in;

  // Of the clock by which that node goes, where each has its own. Zero: of no more than can be told, for nobody says
  // that he is alive for longer than kAliveFor.
  [[nodiscard]] Duration clock_ahead() const {
    return Duration::from_ns(std::max<std::int64_t>(0, expires_in.ns() - kAliveFor.ns()));
  }
};

// "node 'a' (incarnation 7, at 10.0.0.1:7380)"
std::string to_string(const Node& node);

class Roll {
 public:
  explicit Roll(store::Store& shared) : store_(&shared) {}

  // Defines the limits where they are missing.
  Result<void> prepare();

  // None: the store knows of no cluster.
  [[nodiscard]] Result<std::optional<ClusterNumber>> cluster();
  // Makes this store a cluster's if it is none yet, and tells its number.
  Result<ClusterNumber> found_cluster();

  // A number that no start of this name has had before.
  Result<Incarnation> next_incarnation(std::string_view name);
  [[nodiscard]] Result<Incarnation> last_incarnation(std::string_view name);

  // Nodes that have ever started, by name; no more than that many.
  [[nodiscard]] Result<std::vector<std::string>> names(std::size_t count_max);

  // How often nodes have started from a data directory, and one more.
  [[nodiscard]] Result<std::int64_t> starts_from(std::string_view identity);
  Result<void> count_start_from(std::string_view identity);

  // One more sign of life of a node of this name.
  struct Beat {
    std::int64_t number = 0;     // how many there are with it
    Duration clock;              // the time by which the store goes, since its last multiple of kClockPeriod
    bool has_gone_back = false;  // say_gone_back() was called
  };
  Result<Beat> beat(std::string_view name);
  [[nodiscard]] Result<std::int64_t> beats(std::string_view name);
  // Tells all nodes that the store has gone back to an earlier state, whether they can see it or not; and takes it
  // back.
  Result<void> say_gone_back();
  Result<void> forget_gone_back();
  [[nodiscard]] Result<bool> has_gone_back();

  // False: another node has the name or the identity. `number` makes the hold's id another one, for a node that has to
  // come back.
  Result<bool> enter(const Node& node, std::uint64_t number);
  static std::string hold_id(const Node& node, std::uint64_t number);
  Result<void> extend(std::string_view hold_id);
  Result<void> remove(std::string_view hold_id);

  // Who has the name, and who the identity; one of them or both, or nobody.
  [[nodiscard]] Result<std::vector<Presence>> in_the_way(const Node& node);
  [[nodiscard]] Result<std::vector<std::string>> hold_ids();
  // None: it has gone meanwhile.
  [[nodiscard]] Result<std::optional<Presence>> look_up(std::string_view hold_id);

 private:
  Result<std::int64_t> count_one_more(std::string_view key);  // of mete.nodes
  store::Store* store_;
};

}  // namespace mete::escrow
