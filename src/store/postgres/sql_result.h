// The result of a statement: its rows, or why it was not done, as PostgreSQL or the way to it says it.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

struct pg_result;

namespace mete::store::postgres {

inline constexpr std::string_view kNoPrivilege = "42501";  // a SQLSTATE

struct SqlError {
  std::string state = {};  // SQLSTATE; empty where no server has said it
  std::string message = {};
  std::string hint = {};  // what to do, where the server says so
  bool is_lost = false;   // the connection is of no use any more
};

template <class T>
using SqlResult = Result<T, SqlError>;

// What no server has said.
SqlError lost(std::string message);
// Of a result that is an error. Lost is also what a server says that ends the connection by it, or that cannot write
// any more: the one to write to is another by now.
SqlError error_of(const pg_result* result);
// libpq ends its messages with a new line, and has some of several lines and sentences.
std::string one_line(std::string_view text);

struct ClearResult {
  void operator()(pg_result* result) const;
};
using OwnedResult = std::unique_ptr<pg_result, ClearResult>;

// What a query returned, as text. Thread safety: values that can only be moved.
class Rows {
 public:
  // Null: no rows.
  explicit Rows(OwnedResult result) : result_(std::move(result)) {}

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t column_count() const;
  [[nodiscard]] bool is_null(std::size_t row, std::size_t column) const;
  // Empty for null. Valid while the rows are.
  [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const;
  // Of a column that is a bigint and not null: the schema says so.
  [[nodiscard]] std::int64_t integer(std::size_t row, std::size_t column) const;
  [[nodiscard]] bool boolean(std::size_t row, std::size_t column) const;

 private:
  OwnedResult result_;
};

}  // namespace mete::store::postgres
