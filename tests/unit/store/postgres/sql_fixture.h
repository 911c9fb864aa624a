// What the tests of the SQL functions have in common: sessions that ask in SQL, as their users do.
#pragma once

#include <future>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "store/postgres/connection.h"
#include "support/postgres_server.h"
#include "support/waiting.h"
#include "unit/store/postgres/postgres_fixture.h"

namespace mete::store::postgres {

// A statement, and what it answers.
struct Exchange {
  std::string sql;
  std::string answer;
};

inline std::ostream& operator<<(std::ostream& out, const Exchange& exchange) { return out << exchange.sql; }

// One connection. Thread safety: none.
class SqlSession {
 public:
  explicit SqlSession(const support::PostgresServer& server, std::string_view role = "mete")
      : connection_(must_open(server.url("postgres", role))) {}

  // The rows of the last statement as "1|a;2|null"; or the SQLSTATE and the message.
  std::string ask(const std::string& sql) {
    const auto rows = connection_.run_text(sql, patience());
    if (!rows) return rows.error().state + " " + rows.error().message;
    std::string text;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      if (row > 0) text += ';';
      for (std::size_t column = 0; column < rows->column_count(); ++column) {
        if (column > 0) text += '|';
        text += rows->is_null(row, column) ? "null" : rows->text(row, column);
      }
    }
    return text;
  }

  std::string hint_of(const std::string& sql) {
    const auto rows = connection_.run_text(sql, patience());
    return rows ? "none: it was done" : rows.error().hint;
  }

  // On a thread of its own. No other call until the answer is there.
  std::future<std::string> ask_meanwhile(std::string sql) {
    return std::async(std::launch::async, [this, sql = std::move(sql)] { return ask(sql); });
  }

 private:
  Connection connection_;
};

// Somebody waits for what somebody else has locked.
inline bool somebody_waits(const support::PostgresServer& server) {
  return support::becomes_true(std::chrono::seconds(20), [&server] {
    return server.query("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")[0][0] != "0";
  });
}

inline void let_pass(support::PostgresServer& server, Duration by) { server.set_time(server.time() + by); }

}  // namespace mete::store::postgres
