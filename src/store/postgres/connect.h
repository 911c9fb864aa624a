// connect(): a session with one of the PostgreSQL servers that a URL names, within the deadline.
//
// The hosts are tried one by one, in the order of the URL, each with its share of the time: libpq would wait for the
// first one for as long as there is time, if that does not answer at all. All else is libpq's: names, sockets,
// sslmode, target_session_attrs, passwords. (It looks names up without a deadline: `hostaddr` needs no look-up.)
#pragma once

#include <mete/time.h>

#include <memory>
#include <string>

#include "net/deadline.h"
#include "store/postgres/sql_error.h"

struct pg_conn;

namespace mete::store::postgres {

struct Finish {
  void operator()(pg_conn* connection) const;
};
using Handle = std::unique_ptr<pg_conn, Finish>;

// `statement_timeout`: for how long the server itself lets a statement run. It is part of the start of the session, and
// no SET: that would stay with a PgBouncer's connection for whoever gets it next. A PgBouncer that refuses it as an
// unknown parameter is asked again without.
SqlResult<Handle> connect(const std::string& url, Duration statement_timeout, const net::Deadline& deadline);

}  // namespace mete::store::postgres
