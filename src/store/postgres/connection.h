// Connection: one session with a PostgreSQL, by libpq. Each call ends by its deadline; its statement may go on at the
// server, until its statement_timeout.
//
// Statements outside of a transaction are a pipeline: many calls can be under way, each a transaction of its own, which
// the server carries out one after the other. store/network/line.h says who of the callers writes and reads. Texts and
// streams have the connection to themselves.
//
// Statements are prepared under their own names when they are first used, and again where the server does not know
// them: behind a PgBouncer in transaction mode each transaction may be in another server process, which may have them
// or not. Preparing costs no round trip of its own. In a transaction that has begun they get no name: a name that is
// unknown, or known already, would end it.
//
// Thread safety: none: for fibers of one event loop, or for one plain thread.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "net/deadline.h"
#include "net/descriptor.h"
#include "store/network/line.h"
#include "store/postgres/parameters.h"
#include "store/postgres/sql_result.h"

struct pg_conn;

namespace mete::store::postgres {

struct Finish {
  void operator()(pg_conn* connection) const;
};
using Handle = std::unique_ptr<pg_conn, Finish>;

// connect(): a session with one of the PostgreSQL servers that a URL names, within the deadline.
//
// The hosts are tried one by one, in the order of the URL, each with its share of the time: libpq would wait for the
// first one for as long as there is time, if that does not answer at all. All else is libpq's: names, sockets,
// sslmode, target_session_attrs, passwords. (It looks names up without a deadline: `hostaddr` needs no look-up.)
//
// `statement_timeout`: for how long the server itself lets a statement run. It is part of the start of the session, and
// no SET: that would stay with a PgBouncer's connection for whoever gets it next. A PgBouncer that refuses it as an
// unknown parameter is asked again without.
SqlResult<Handle> connect(const std::string& url, Duration statement_timeout, const net::Deadline& deadline);

// `name` and `text` belong together for good, in all versions of the program: change both, or neither. They live as
// long as the program.
struct Statement {
  const char* name;
  const char* text;
};

// A call that is under way.
struct SqlTurn {
  OwnedResult result = {};  // the first that is an error, or the last
  bool is_over = false;
  net::Signal changed = {};
};

class Connection : public Line<Connection, SqlTurn, SqlError> {
 public:
  // `url` as libpq takes it: several hosts, target_session_attrs, sslmode and so on. connect() says what becomes of
  // `statement_timeout`.
  static SqlResult<Connection> open(const std::string& url, const net::Deadline& deadline,
                                    Duration statement_timeout = Duration::never());

  // Outside of begin() and end of a transaction: a transaction of its own.
  SqlResult<Rows> run(const Statement& statement, const Parameters& parameters, const net::Deadline& deadline);
  // Without parameters and unprepared, one or several statements: the rows of the last.
  SqlResult<Rows> run_text(const std::string& text, const net::Deadline& deadline);
  // A query whose rows are seen one by one, and never kept. `see` returns false to stop: the connection is lost then,
  // for the rest of the rows is on its way.
  SqlResult<void> stream(const std::string& query, const std::function<bool(const Rows&)>& see,
                         const net::Deadline& deadline);

  // How long an answer takes that needs no work.
  SqlResult<Duration> measure_distance(const net::Deadline& deadline);

  [[nodiscard]] bool is_lost() const { return is_lost_; }
  // The server has not answered in time.
  [[nodiscard]] bool is_silent() const { return is_silent_; }
  // Not lost, in no transaction, and without a call that is under way.
  [[nodiscard]] bool is_idle() const;
  // Idle, and nothing came that was not asked for, such as the end of the connection: it can be used again. Does not
  // wait.
  [[nodiscard]] bool is_quiet() const;
  // Another descriptor of its socket. Whoever shuts that down, from any thread, ends what the connection waits for: it
  // is lost then. Not of a connection that is lost already.
  [[nodiscard]] net::Descriptor share_socket() const;
  // Of the server that was reached, as host:port.
  [[nodiscard]] const std::string& address() const { return address_; }
  // As 150004.
  [[nodiscard]] int server_version() const { return server_version_; }
  static SqlError unavailable(std::string reason) { return lost(std::move(reason)); }

 private:
  friend class Line<Connection, SqlTurn, SqlError>;

  enum class Manner : std::uint8_t { kPrepared, kPreparing, kUnnamed };

  explicit Connection(Handle handle);

  SqlResult<Rows> attempt(Manner manner, const Statement& statement, const Parameters& parameters,
                          const net::Deadline& deadline);
  [[nodiscard]] bool send(Manner manner, const Statement& statement, const Parameters& parameters);
  // The pipeline: the end of a call in it, and its result; what came for whom.
  SqlResult<OwnedResult> finish_turn(const net::Deadline& deadline);
  SqlResult<void> hand_out(bool is_readable);
  SqlResult<void> write_added(const net::Deadline& deadline);
  SqlResult<void> read_some(const net::Deadline& deadline);
  SqlError no_answer(const net::Deadline& deadline);
  // Texts and streams: all that was sent but not yet written.
  SqlResult<void> send_text(const std::string& text);
  SqlResult<void> flush(const net::Deadline& deadline);
  // Null at the end of the results.
  SqlResult<OwnedResult> next_result(const net::Deadline& deadline);
  // All results: the first that is an error, or the last.
  SqlResult<Rows> collect(const net::Deadline& deadline);
  // Rows, or the error that the result is.
  SqlResult<Rows> judge(OwnedResult result);
  // The failure of libpq's last call; the connection is over, and whoever waits for its socket wakes.
  SqlError give_up();
  SqlError give_up(SqlError error);
  SqlError give_up_waiting(const net::Deadline& deadline);

  Handle handle_;
  // The same socket by a descriptor of our own: libpq closes its own as soon as a call of it fails, while other calls
  // wait.
  net::Descriptor socket_;
  std::string address_;
  int server_version_ = 0;
  bool is_lost_ = false;
  bool is_silent_ = false;
  std::unordered_set<std::string_view> prepared_;  // names that the server is thought to know
};

}  // namespace mete::store::postgres
