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
  // Also of a row that is not there.
  [[nodiscard]] bool is_null(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::string_view name(std::size_t column) const;
  // Empty for null. Valid while the rows are.
  [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const;

  // Somebody else may have changed a row of the schema, or a function: so a value that is missing, or is none of its
  // kind, is an error that says whose it was to be.
  [[nodiscard]] Result<std::int64_t> integer(std::size_t row, std::size_t column, std::string_view whose) const;
  // Not below zero.
  [[nodiscard]] Result<std::int64_t> amount(std::size_t row, std::size_t column, std::string_view whose) const;
  // Microseconds since the Unix epoch, of which an Instant can be made.
  [[nodiscard]] Result<std::uint64_t> micros(std::size_t row, std::size_t column, std::string_view whose) const;
  [[nodiscard]] Result<bool> boolean(std::size_t row, std::size_t column, std::string_view whose) const;

  // That it is not what it was to be.
  [[nodiscard]] Error is_none(std::size_t row, std::size_t column, std::string_view whose) const;

 private:
  OwnedResult result_;
};

// The first bytes of a text that somebody else may have made as long as he likes, for an error.
std::string shown(std::string_view text);

}  // namespace mete::store::postgres
