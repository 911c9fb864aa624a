// A connection to PostgreSQL, as small as can be: libpq with values, errors and transactions.
//
// Which database it is, libpq takes from its environment: PGHOST, PGPORT, PGUSER, PGDATABASE.
#pragma once

#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// What PostgreSQL has refused. The state is its SQLSTATE: MT001 to MT006 are Mete's.
class SqlError : public std::runtime_error {
 public:
  SqlError(std::string state, const std::string& message) : std::runtime_error(message), state_(std::move(state)) {}

  [[nodiscard]] const std::string& state() const { return state_; }

 private:
  std::string state_;
};

using Row = std::vector<std::optional<std::string>>;  // nothing: null
using Rows = std::vector<Row>;

class Database {
 public:
  Database();

  // One statement with its parameters, $1 and so on.
  Rows run(const std::string& sql, const std::vector<std::string>& parameters = {});

  // Runs `body` in a transaction: all that it does, or nothing. One that PostgreSQL has undone because of others at the
  // same time is made again. An exception of `body` rolls it back.
  void in_transaction(const std::function<void()>& body);

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  void roll_back();

  std::unique_ptr<PGconn, Finish> connection_;
};
