// EtcdServer: a member of an etcd of the test's own, on ports of its own, that ends with it at the latest.
//
//     EtcdServer server;
//     auto limiter = mete::open(server.url("/one")).value();
//     server.kill_hard();
//     server.start_again();                            // on the same ports, with all that was acknowledged
//
// It is found through PATH. A single one answers once the constructor or start_again() returns; whoever is one of
// several does so once most of them run: EtcdCluster. Whatever goes wrong with it is an exception with its last words,
// by which the test fails. Start it on the test's own thread: it ends with the thread that started it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/child_process.h"

namespace mete::support {

class EtcdServer {
 public:
  struct Options {
    std::vector<std::string> arguments = {};  // as etcd takes them: {"--quota-backend-bytes=1000000"}
    bool has_tls = false;                     // for clients; its arguments name the files
    std::string name = "single";
    std::string cluster = {};  // --initial-cluster; empty: it is alone
    std::uint16_t peer_port = 0;
  };

  EtcdServer() : EtcdServer(Options()) {}
  explicit EtcdServer(Options options);
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;
  ~EtcdServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // `path`: "/prefix" of the keys.
  [[nodiscard]] std::string url(std::string_view path = "") const { return "etcd://" + address() + std::string(path); }
  // For tests that are not about time: a busy machine may keep a server from its work for seconds.
  [[nodiscard]] std::string patient_url(std::string_view path = "") const { return url(path) + "?timeout=20s"; }
  [[nodiscard]] std::string log() const;

  // SIGKILL: as a crash. stop() is an orderly end: SIGTERM.
  void kill_hard() { process_.kill_hard(); }
  void stop();
  void start_again();
  // Stands still (SIGSTOP), with its connections open, and goes on.
  void pause() const;
  void resume() const;

 private:
  enum class Start : std::uint8_t { kReady, kPortTaken };

  Start try_to_start();
  [[nodiscard]] ChildProcess::Command command() const;

  Options options_;
  std::uint16_t port_ = 0;
  std::unique_ptr<TemporaryDirectory> directory_;
  ChildProcess process_;
};

// Three members.
class EtcdCluster {
 public:
  EtcdCluster();

  [[nodiscard]] EtcdServer& member(std::size_t number) { return *members_.at(number); }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] std::string url(std::string_view parameters = "") const;

 private:
  std::vector<std::unique_ptr<EtcdServer>> members_;
};

// One for all tests of this program (support/shared_server.h). It is not emptied: each test has a prefix of its own.
EtcdServer& shared_etcd();
// "/test-7": a prefix that no test has used there.
std::string unused_etcd_path();

}  // namespace mete::support
