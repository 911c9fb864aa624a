#include "store/postgres/sql_result.h"

#include <libpq-fe.h>

#include <charconv>
#include <limits>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"

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
  CHECK(column < column_count());
  return row >= size() || PQgetisnull(result_.get(), static_cast<int>(row), static_cast<int>(column)) != 0;
}

std::string_view Rows::name(std::size_t column) const {
  CHECK(column < column_count());
  return PQfname(result_.get(), static_cast<int>(column));
}

std::string_view Rows::text(std::size_t row, std::size_t column) const {
  if (is_null(row, column)) return {};
  const int at[] = {static_cast<int>(row), static_cast<int>(column)};
  return {PQgetvalue(result_.get(), at[0], at[1]), static_cast<std::size_t>(PQgetlength(result_.get(), at[0], at[1]))};
}

Error Rows::is_none(std::size_t row, std::size_t column, std::string_view whose) const {
  const std::string value = is_null(row, column) ? "nothing" : "'" + shown(text(row, column)) + "'";
  return base::unavailable("PostgreSQL: " + std::string(whose) + " has " + value + " for '" +
                           std::string(name(column)) + "': somebody else has changed its row in the schema 'mete'");
}

Result<std::int64_t> Rows::integer(std::size_t row, std::size_t column, std::string_view whose) const {
  const std::string_view digits = text(row, column);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return is_none(row, column, whose);
  }
  return number;
}

Result<std::int64_t> Rows::amount(std::size_t row, std::size_t column, std::string_view whose) const {
  const auto number = TRY(integer(row, column, whose));
  if (number < 0) return is_none(row, column, whose);
  return number;
}

Result<std::uint64_t> Rows::micros(std::size_t row, std::size_t column, std::string_view whose) const {
  constexpr std::int64_t kMicrosMax = std::numeric_limits<std::int64_t>::max() / 1000;
  const auto number = TRY(amount(row, column, whose));
  if (number > kMicrosMax) return is_none(row, column, whose);
  return static_cast<std::uint64_t>(number);
}

Result<bool> Rows::boolean(std::size_t row, std::size_t column, std::string_view whose) const {
  const std::string_view letter = text(row, column);
  if (letter != "t" && letter != "f") return is_none(row, column, whose);
  return letter == "t";
}

std::string shown(std::string_view text) {
  constexpr std::size_t kBytesMax = 400;
  if (text.size() <= kBytesMax) return std::string(text);
  std::size_t end = kBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // the whole of a character
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace mete::store::postgres
