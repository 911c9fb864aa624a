#include "store/postgres/session.h"
#include "base/errors.h"
#include "base/try.h"

#include <algorithm>
#include <array>

namespace mete::store::postgres {

namespace {

// How often a statement is made that others at the same time keep from being done.
constexpr int kAttemptsMax = 16;

constexpr std::string_view kSerializationFailure = "40001";
constexpr std::string_view kDeadlock = "40P01";
constexpr std::array<std::string_view, 3> kNotInstalled = {"3F000", "42883", "42P01"};  // schema, function, table

struct Refusal {
  std::string_view state;
  ErrorCode code;
};

// As sql/040_open.sql has them.
constexpr Refusal kRefusals[] = {
    {"MT001", ErrorCode::kInvalid}, {"MT002", ErrorCode::kNoLimit}, {"MT003", ErrorCode::kNoHold},
    {"MT004", ErrorCode::kExpired}, {"MT005", ErrorCode::kExceeds}, {"MT006", ErrorCode::kMismatch},
};

// A value that cannot be reckoned with, or that is not as it must be: what is stored is to blame, not who asks.
bool is_of_stored_data(const SqlError& error) {
  return error.state.starts_with("21") || error.state.starts_with("22") || error.state.starts_with("23") ||
         error.state.starts_with("XX");
}

bool is_undone(const SqlError& error) { return error.state == kSerializationFailure || error.state == kDeadlock; }

}  // namespace

Error to_error(const SqlError& error) {
  for (const Refusal& refusal : kRefusals) {
    if (error.state == refusal.state) return {refusal.code, error.message};
  }
  if (std::find(kNotInstalled.begin(), kNotInstalled.end(), error.state) != kNotInstalled.end()) {
    return base::unavailable("PostgreSQL: " + error.message +
                             ": the schema 'mete' is not there, or is of another version: run `mete migrate URL`");
  }
  if (error.state == kNoPrivilege) {
    return base::invalid("PostgreSQL: " + error.message +
                         (error.hint.empty() ? ": grant mete_use or mete_admin to this role" : ": " + error.hint));
  }
  std::string message = "PostgreSQL: " + shown(error.message);
  if (!error.hint.empty()) message += ": " + error.hint;
  return base::unavailable(std::move(message));
}

Error about(Error error, const Parameters& parameters) {
  if (!parameters.subject().empty()) error.message += ": in the rows of " + shown(parameters.subject());
  return error;
}

SqlResult<Rows> Session::run_once(const Statement& statement, const Parameters& parameters,
                                  const net::Deadline& deadline) {
  auto lease = TRY(pool_.lease(deadline));
  return lease.run(statement, parameters, deadline);
}

Result<Rows> Session::run(const Statement& statement, const Parameters& parameters, Effect effect) {
  const auto deadline = net::Deadline::in(pool_.url().timeout);
  bool may_reconnect = effect == Effect::kRepeatable;
  for (int attempt = 1;; ++attempt) {
    auto rows = run_once(statement, parameters, deadline);
    if (rows) return std::move(*rows);
    const bool is_again = is_undone(rows.error()) || (rows.error().is_lost && std::exchange(may_reconnect, false));
    if (is_again && attempt < kAttemptsMax && !deadline.is_over()) continue;
    const bool is_about_rows = is_of_stored_data(rows.error()) || is_undone(rows.error());
    return is_about_rows ? about(to_error(rows.error()), parameters) : to_error(rows.error());
  }
}

}  // namespace mete::store::postgres
