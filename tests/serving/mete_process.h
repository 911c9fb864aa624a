// MeteProcess: the program itself, as `mete serve`, on a port and with a folder of its own. It ends with this object.
//
//     MeteProcess server;
//     auto limiter = mete::open(server.url()).value();
//     server.kill_hard();
//     server.start_again();                            // on the same port, with the same folder
//
// It answers once the constructor or start_again() returns. Whatever goes wrong with it is an exception with its last
// words. Start it on the test's own thread: it ends with the thread that started it. Thread safety: none.
#pragma once

#include <cstdint>
#include <string>

#include "support/child_process.h"

namespace mete::serving {

class MeteProcess {
 public:
  struct Options {};  // none so far

  MeteProcess() : MeteProcess(Options()) {}
  explicit MeteProcess(const Options& options);
  MeteProcess(const MeteProcess&) = delete;
  MeteProcess& operator=(const MeteProcess&) = delete;
  ~MeteProcess();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "mete://127.0.0.1:" + std::to_string(port_); }

  // SIGKILL: as a crash. stop() is an orderly end: SIGTERM.
  void kill_hard() { process_.kill_hard(); }
  void stop();
  void start_again();
  // Stands still (SIGSTOP), with its connections open, and goes on.
  void pause() const;
  void resume() const;

 private:
  // False: somebody else has the port.
  bool try_to_start();
  [[nodiscard]] std::string log() const;

  std::uint16_t port_ = 0;
  support::TemporaryDirectory directory_;
  support::ChildProcess process_;
};

}  // namespace mete::serving
