// RedisCluster: three masters, and a replica of each unless the test sets the time.
//
//     RedisCluster cluster({.node_timeout = RedisCluster::kFailsOver});
//     auto limiter = mete::open(cluster.url()).value();
//     const int slot = cluster.slot_of("{alice}");
//     cluster.node(cluster.master_of(slot)).kill_hard();
//     cluster.await_health();           // its replica has taken over, and every node knows
//
//     RedisCluster cluster({.has_settable_clock = true});
//     cluster.set_time(cluster.time() + 30s);
//
// All nodes agree that the state is ok once the constructor returns, which takes some seconds. Trouble is an exception,
// by which the test fails. Thread safety: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/redis_server.h"

namespace mete::support {

class RedisCluster {
 public:
  static constexpr std::size_t kMasters = 3;

  // After which a node is taken for dead. The default outlasts the moments in which a busy machine forgets one: in a
  // test that kills none, none may lose its place.
  static constexpr std::chrono::milliseconds kNeverFailsOver{30'000};
  static constexpr std::chrono::milliseconds kFailsOver{2'000};

  struct Options {
    std::chrono::milliseconds node_timeout = kNeverFailsOver;
    // One time for all nodes, which the test sets. They judge each other by it, too, so that no length of silence is
    // too long for them, and there are no replicas, which would be judged in the same way.
    bool has_settable_clock = false;
  };

  RedisCluster() : RedisCluster(Options()) {}
  explicit RedisCluster(const Options& options);

  // redis+cluster://… with every node.
  [[nodiscard]] std::string url() const;
  // As RedisServer's.
  [[nodiscard]] std::string patient_url() const { return url() + "?timeout=20s"; }
  // Masters first; node i + kMasters is the first replica of node i.
  [[nodiscard]] RedisServer& node(std::size_t number) { return *nodes_[number]; }

  [[nodiscard]] int slot_of(std::string_view key) const;
  // The node that has the slot now, by the word of the others.
  [[nodiscard]] std::size_t master_of(int slot) const;
  // Waits until all slots are served, by nodes that are up, and all that are up agree.
  void await_health() const;
  // Waits until each replica has all that was written until now; the first masters must be up.
  void await_replicas() const;

  // A slot moves to another master in steps, so that a test can do something between them.
  struct Move {
    int slot = 0;
    std::size_t from = 0;
    std::size_t to = 0;
  };
  void begin_move(const Move& move) const;
  // Moves up to `count` keys; how many it moved.
  std::size_t move_keys(const Move& move, std::size_t count) const;  // NOLINT(modernize-use-nodiscard)
  void end_move(const Move& move) const;

  // To the microsecond; only with has_settable_clock.
  void set_time(Instant at);
  [[nodiscard]] Instant time() const { return nodes_[0]->time(); }

  // Empties all nodes; fails if a slot is still on its way.
  void clear() const;

 private:
  [[nodiscard]] bool is_up(std::size_t number) const { return nodes_[number]->pid() > 0; }
  [[nodiscard]] const RedisServer& any_up() const;
  [[nodiscard]] std::string id_of(std::size_t number) const;
  [[nodiscard]] bool is_healthy() const;
  void meet();
  void replicate() const;

  const bool has_settable_clock_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

// One that never fails over for all tests of this program that kill none of its nodes (support/shared_server.h). Each
// call empties it. Slots may lie elsewhere than at first.
RedisCluster& shared_cluster();

// One whose time is what the test says, for all tests of this program. Each call empties it and sets its time back to
// kServerStart.
RedisCluster& shared_cluster_on_time();

}  // namespace mete::support
