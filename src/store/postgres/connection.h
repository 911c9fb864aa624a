// Connection: one session with a PostgreSQL, by libpq. Calls block, until their deadline at most: one that is over
// leaves the connection lost.
//
// Statements are prepared under their own names when they are first used, and again where the server does not know
// them: behind a PgBouncer in transaction mode each transaction may be in another server process, which may have them
// or not.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <mete/result.h>

#include "net/deadline.h"
#include "store/postgres/parameters.h"
#include "store/postgres/rows.h"
#include "store/postgres/sql_error.h"

struct pg_conn;

namespace mete::store::postgres {

// `name` and `text` belong together for good, in all versions of the program: change both, or neither.
struct Statement {
  const char* name;
  const char* text;
};

class Connection {
 public:
  // `url` as libpq takes it: several hosts, target_session_attrs, sslmode and so on.
  static SqlResult<Connection> open(const std::string& url, const net::Deadline& deadline);

  // Outside of begin() and end of a transaction: a transaction of its own.
  SqlResult<Rows> run(const Statement& statement, const Parameters& parameters, const net::Deadline& deadline);
  // Without parameters and unprepared, one or several statements: the rows of the last.
  SqlResult<Rows> run_text(const std::string& text, const net::Deadline& deadline);
  // A query whose rows are seen one by one, and never kept. `see` returns false to stop.
  SqlResult<Done> stream(const std::string& query, const std::function<bool(const Rows&)>& see,
                         const net::Deadline& deadline);

  [[nodiscard]] bool is_lost() const;
  // Of the server that was reached, as host:port.
  [[nodiscard]] std::string address() const;
  // As 150004.
  [[nodiscard]] int server_version() const;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  explicit Connection(pg_conn* connection) : connection_(connection) {}

  std::unique_ptr<pg_conn, Finish> connection_;
};

}  // namespace mete::store::postgres
