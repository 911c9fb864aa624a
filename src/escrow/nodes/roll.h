// Roll: how the nodes of a cluster stand in the store that they share: as meters and holds of two reserved limits.
//
//     mete.nodes   stock, without end
//       {mete}cluster        used: the cluster's number, from 2^52 on, written once by its first node
//       {mete}node:NAME      used: how often a node of that name has started; the last start's is its incarnation
//       {mete}id:IDENTITY    used: how often a node has started from that data directory
//       {mete}at:ADDRESS     held by who is found there
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
};

// "node 'a' (incarnation 7, at 10.0.0.1:7380)"
std::string to_string(const Node& node);

class Roll {
 public:
  explicit Roll(store::Store& shared) : store_(&shared) {}

  // Defines the two limits where they are missing.
  Result<void> prepare();

  // None: the store knows of no cluster.
  [[nodiscard]] Result<std::optional<ClusterNumber>> cluster();
  // Makes this store a cluster's if it is none yet, and tells its number.
  Result<ClusterNumber> found_cluster();

  // A number that no start of this name has had before.
  Result<Incarnation> next_incarnation(std::string_view name);
  [[nodiscard]] Result<Incarnation> last_incarnation(std::string_view name);

  // How often nodes have started from a data directory, and one more.
  [[nodiscard]] Result<std::int64_t> starts_from(std::string_view identity);
  Result<void> count_start_from(std::string_view identity);

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
  store::Store* store_;
};

}  // namespace mete::escrow
