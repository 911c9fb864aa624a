// RedisSentinels: a master, its replica, and three Sentinels that watch them (quorum 2).
//
//     RedisSentinels world;
//     auto limiter = mete::open(world.url()).value();
//     world.server(0).kill_hard();
//     world.await_master(1);            // the Sentinels have agreed on the replica
//
// A master counts as dead after 1.5 s. With less than a second Sentinels swap the two for ever: they connect to a
// master anew once a second at most, so the one just promoted is silent for longer than that at first.
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

 private:
  std::array<std::unique_ptr<RedisServer>, kServers> servers_;
  std::array<std::unique_ptr<RedisServer>, kSentinels> sentinels_;
};

}  // namespace mete::support
