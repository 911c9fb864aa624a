// PostgresServer: a PostgreSQL of the test's own, on a port of its own, that ends with it at the latest.
//
//     PostgresServer server({.has_settable_clock = true});
//     auto limiter = mete::open(server.url()).value();
//     server.set_time(server.time() + 30s);            // clock_timestamp() stands still but for this
//     server.kill_hard();
//     server.start_again();                            // on the same port, with all that was committed
//
// Its role is `mete`, a superuser, and its database `postgres`; everybody is trusted. It answers once the constructor
// or start_again() returns. Whatever goes wrong with it is an exception with its last words, by which the test fails.
// Start it on the test's own thread: it ends with the thread that started it. PostgreSQL does not run as root: there it
// is the user postgres, whom Debian's package makes. Thread safety: set_time() and time().
#pragma once

#include <mete/time.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/child_process.h"
#include "support/server_clock.h"

namespace mete::support {

class PostgresServer {
 public:
  struct Options {
    std::vector<std::string> settings = {};  // as postgresql.conf has them: {"max_connections=5"}
    bool has_settable_clock = false;         // support/settable_clock.cc says how PostgreSQL takes it
    bool is_durable = false;                 // against the end of the machine, and not of the server alone
    // A standby of this one, which streams what it does: it reads, and writes after `select pg_promote()`.
    const PostgresServer* primary = nullptr;
  };

  PostgresServer() : PostgresServer(Options()) {}
  explicit PostgresServer(Options options);
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string url() const { return url("postgres"); }
  [[nodiscard]] std::string url(std::string_view database, std::string_view role = "mete") const;
  // For tests that are not about time: a busy machine may keep a server from its work for seconds.
  [[nodiscard]] std::string patient_url() const { return url() + "?timeout=20s"; }
  // Through the Unix socket that lies in it.
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_->path(); }
  // What it has printed since it was started.
  [[nodiscard]] std::string log() const;

  // SIGKILL to all its processes: as a crash. stop() is an orderly end, which cuts off whoever is connected.
  void kill_hard();
  void stop();
  void start_again();
  // Stands still (SIGSTOP to all its processes), with its connections open, and goes on.
  void pause() const;
  void resume() const;

  // To the microsecond; only with has_settable_clock.
  void set_time(Instant at);
  [[nodiscard]] Instant time() const;

  // On a connection of its own, as the superuser: the rows of the last statement; "" for null.
  using Rows = std::vector<std::vector<std::string>>;
  Rows query(const std::string& sql, std::string_view database = "postgres") const;
  void make_database(std::string_view name) const;
  // Mete's, in the database `postgres`.
  void install_schema() const;

 private:
  enum class Start : std::uint8_t { kReady, kPortTaken };

  Start try_to_start();
  [[nodiscard]] ChildProcess::Command command() const;
  [[nodiscard]] std::filesystem::path data() const { return directory_->path() / "data"; }
  // The postmaster first, so that it starts no others meanwhile.

  Options options_;
  std::uint16_t port_ = 0;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::optional<ServerClock> clock_;
  ChildProcess process_;
};

// One with a settable clock and the schema `mete` for all tests of this program (support/shared_server.h). Each call
// empties its tables and sets its time back to kServerStart.
PostgresServer& shared_postgres();
// Another one, whose time passes as everybody's, for tests in which PostgreSQL's own time-outs count.
PostgresServer& running_postgres();

}  // namespace mete::support
