// Rows: what a query returned, as text. Thread safety: values that can only be moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

struct pg_result;

namespace mete::store::postgres {

struct ClearResult {
  void operator()(pg_result* result) const;
};
using OwnedResult = std::unique_ptr<pg_result, ClearResult>;

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
