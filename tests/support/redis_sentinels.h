// RedisSentinels: a master, its replica, and three Sentinels that watch them (quorum 2, down after 500 ms).
//
//     RedisSentinels world;
//     auto limiter = mete::open(world.url()).value();
//     world.server(0).kill_hard();
//     world.await_master(1);            // the Sentinels have agreed on the replica
//
// All are in accord once the constructor returns, which takes some three seconds. Trouble is an exception, by which the
// test fails. Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "support/redis_server.h"

namespace mete::support {

class RedisSentinels {
 public:
  static constexpr std::size_t kServers = 2;
  static constexpr std::size_t kSentinels = 3;

  RedisSentinels();

  // redis+sentinel://…/mymaster
  [[nodiscard]] std::string url() const;
  // Number 0 is the first master.
  [[nodiscard]] RedisServer& server(std::size_t number) { return *servers_[number]; }
  [[nodiscard]] RedisServer& sentinel(std::size_t number) { return *sentinels_[number]; }
  // Waits until all Sentinels name this one, and it takes writes.
  void await_master(std::size_t number) const;
  // Waits until it follows the other one and has all that there is.
  void await_replica(std::size_t number) const;

 private:
  std::array<std::unique_ptr<RedisServer>, kServers> servers_;
  std::array<std::unique_ptr<RedisServer>, kSentinels> sentinels_;
};

}  // namespace mete::support
