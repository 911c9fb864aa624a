// PgBouncer: one of the test's own in front of a PostgreSQL, in transaction mode: each transaction of a client is in
// whichever of its connections to the server is free.
//
//     PgBouncer bouncer(server, {.settings = {"default_pool_size=2"}});
//     auto limiter = mete::open(bouncer.url()).value();
//
// It answers once the constructor returns, and ends with this object. Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/child_process.h"
#include "support/postgres_server.h"

namespace mete::support {

class PgBouncer {
 public:
  struct Options {
    std::vector<std::string> settings = {};  // lines of the section [pgbouncer]
  };

  explicit PgBouncer(const PostgresServer& server) : PgBouncer(server, Options()) {}
  PgBouncer(const PostgresServer& server, const Options& options);

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(std::string_view database = "postgres") const;
  [[nodiscard]] std::string patient_url() const { return url() + "?timeout=20s"; }
  [[nodiscard]] std::string log() const;

 private:
  // False if its port was taken.
  bool try_to_start(const PostgresServer& server, const Options& options);

  std::uint16_t port_ = 0;
  TemporaryDirectory directory_;
  ChildProcess process_;
};

}  // namespace mete::support
