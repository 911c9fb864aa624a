#include "store/postgres/rows.h"

#include <libpq-fe.h>

#include <charconv>

#include "base/check.h"

namespace mete::store::postgres {

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
