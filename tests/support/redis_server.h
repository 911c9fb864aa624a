// RedisServer: a redis-server process of the test's own, on a port of its own, that ends with it at the latest.
//
//     RedisServer server({.has_settable_clock = true});
//     auto limiter = mete::open(server.url()).value();
//     server.set_time(server.time() + 30s);            // Redis's TIME stands still but for this
//     server.kill_hard();
//     server.start_again();                            // on the same port
//
// It is found through PATH, keeps nothing on disk unless its arguments say so, and answers once the constructor or
// start_again() returns. Whatever goes wrong with it is an exception with its last words, by which the test fails.
// Start it on the test's own thread: it ends with the thread that started it. Thread safety: set_time() and time().
#pragma once

#include <mete/time.h>
#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/child_process.h"
#include "support/server_clock.h"
#include "wire/resp_reply.h"

namespace mete::support {

class RedisServer {
 public:
  struct Options {
    std::vector<std::string> arguments;  // as redis-server takes them: {"--maxmemory", "4mb"}
    std::string configuration = {};      // lines of a file in front of them, which the server may rewrite
    bool has_settable_clock = false;     // support/settable_clock.cc says how Redis takes it
    bool is_cluster_node = false;
  };

  RedisServer() : RedisServer(Options()) {}
  explicit RedisServer(Options options);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Where the nodes of a Cluster talk to each other.
  [[nodiscard]] std::uint16_t bus_port() const { return bus_port_; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string url() const { return "redis://" + address(); }
  // For tests that are not about time: a busy machine may keep a server from its work for seconds.
  [[nodiscard]] std::string patient_url() const { return url() + "?timeout=20s"; }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  // What it has printed since it was started.
  [[nodiscard]] std::string log() const;

  // SIGKILL: as a crash. stop() is an orderly end: SIGTERM.
  void kill_hard() { process_.kill_hard(); }
  void stop();
  void start_again();
  // Stands still (SIGSTOP), with its connections open, and goes on.
  void pause() const;
  void resume() const;

  // To the microsecond; only with has_settable_clock.
  void set_time(Instant at);
  [[nodiscard]] Instant time() const;

  // One command on a connection of its own.
  wire::RespValue call(std::initializer_list<std::string_view> words) const;
  // A field of its INFO, or of CLUSTER INFO; empty if there is none.
  [[nodiscard]] std::string info(std::string_view field) const;
  [[nodiscard]] std::string cluster_info(std::string_view field) const;
  // Waits until a replica has all that was written until now. The replica's own word for its link is not enough: a
  // master goes on collecting for it until it has been told that the first copy has arrived.
  void await_replica() const;

 private:
  enum class Start : std::uint8_t { kReady, kPortTaken };

  Start try_to_start();
  [[nodiscard]] ChildProcess::Command command() const;

  Options options_;
  std::uint16_t port_ = 0;
  std::uint16_t bus_port_ = 0;
  std::unique_ptr<TemporaryDirectory> directory_;
  ChildProcess process_;
  std::optional<ServerClock> clock_;
};

// One with a settable clock for all tests of this program (support/shared_server.h). Each call empties it and sets its
// time back to kServerStart; in this order nothing expires meanwhile, and nothing is left that could stay for longer.
RedisServer& shared_redis();

}  // namespace mete::support
