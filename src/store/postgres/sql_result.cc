#include "store/postgres/sql_result.h"

#include <libpq-fe.h>

#include <charconv>

#include "base/check.h"

namespace mete::store::postgres {

namespace {

constexpr std::string_view kReadOnly = "25006";            // a server that has become a standby
constexpr std::string_view kOperatorIntervention = "57P";  // shutdown, crash, not ready yet, database gone

std::string field(const pg_result* result, int code) {
  const char* const text = PQresultErrorField(result, code);
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace

SqlError lost(std::string message) { return {.message = std::move(message), .is_lost = true}; }

SqlError error_of(const pg_result* result) {
  SqlError error = {.state = field(result, PG_DIAG_SQLSTATE),
                    .message = field(result, PG_DIAG_MESSAGE_PRIMARY),
                    .hint = field(result, PG_DIAG_MESSAGE_HINT)};
  if (error.message.empty()) error.message = one_line(PQresultErrorMessage(result));
  const std::string severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  error.is_lost = severity == "FATAL" || severity == "PANIC" || error.state == kReadOnly ||
                  error.state.starts_with(kOperatorIntervention);
  return error;
}

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (part.starts_with('\t') || part.starts_with(' ')) part.remove_prefix(1);
    if (part.empty()) continue;
    const bool is_sentence = part.front() >= 'A' && part.front() <= 'Z' && !line.ends_with('.');
    if (!line.empty()) line += is_sentence ? "; " : " ";
    line += part;
  }
  return line;
}

void ClearResult::operator()(pg_result* result) const { PQclear(result); }

std::size_t Rows::size() const { return static_cast<std::size_t>(PQntuples(result_.get())); }

std::size_t Rows::column_count() const { return static_cast<std::size_t>(PQnfields(result_.get())); }

bool Rows::is_null(std::size_t row, std::size_t column) const {
  CHECK(row < size() && column < column_count());
  return PQgetisnull(result_.get(), static_cast<int>(row), static_cast<int>(column)) != 0;
}

std::string_view Rows::text(std::size_t row, std::size_t column) const {
  CHECK(row < size() && column < column_count());
  const int at[] = {static_cast<int>(row), static_cast<int>(column)};
  return {PQgetvalue(result_.get(), at[0], at[1]), static_cast<std::size_t>(PQgetlength(result_.get(), at[0], at[1]))};
}

std::int64_t Rows::integer(std::size_t row, std::size_t column) const {
  const std::string_view digits = text(row, column);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  CHECK(error == std::errc() && end == digits.data() + digits.size());
  return number;
}

bool Rows::boolean(std::size_t row, std::size_t column) const {
  const std::string_view letter = text(row, column);
  CHECK(letter == "t" || letter == "f");
  return letter == "t";
}

}  // namespace mete::store::postgres
