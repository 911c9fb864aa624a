#include "database.h"

namespace {

constexpr int kAttemptsMax = 5;

bool is_worth_another_attempt(const SqlError& error) {
  return error.state() == "40001" || error.state() == "40P01";  // serialization failure, deadlock
}

Rows rows_of(const PGresult* result) {
  Rows rows(static_cast<std::size_t>(PQntuples(result)));
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < PQnfields(result); ++column) {
      const bool is_null = PQgetisnull(result, row, column) == 1;
      rows[static_cast<std::size_t>(row)].push_back(
          is_null ? std::nullopt : std::optional<std::string>(PQgetvalue(result, row, column)));
    }
  }
  return rows;
}

}  // namespace

Database::Database() : connection_(PQconnectdb("")) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
  // A process that stands still in the middle of a transaction must not keep its rows from the others.
  run("set idle_in_transaction_session_timeout = '10s'");
}

Rows Database::run(const std::string& sql, const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                   nullptr, 0),
      &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return rows_of(result.get());
  const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  if (state == nullptr) throw std::runtime_error(PQerrorMessage(connection_.get()));  // the connection is lost
  throw SqlError(state, PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY));
}

void Database::in_transaction(const std::function<void()>& body) {
  for (int attempt = 1;; ++attempt) {
    try {
      run("begin");
      body();
      run("commit");
      return;
    } catch (const SqlError& error) {
      roll_back();
      if (!is_worth_another_attempt(error) || attempt == kAttemptsMax) throw;
    } catch (...) {
      roll_back();
      throw;
    }
  }
}

// A connection that is lost has rolled back already.
void Database::roll_back() {
  if (PQstatus(connection_.get()) == CONNECTION_OK) run("rollback");
}
