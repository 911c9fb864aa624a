#include "store/postgres/sql_error.h"

#include <libpq-fe.h>

#include <utility>

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

}  // namespace mete::store::postgres
