// SqlError: why a statement was not done, as PostgreSQL or the way to it says it.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

struct pg_result;

namespace mete::store::postgres {

struct SqlError {
  std::string state = {};  // SQLSTATE; empty where no server has said it
  std::string message = {};
  std::string hint = {};  // what to do, where the server says so
  bool is_lost = false;   // the connection is of no use any more
};

template <class T>
using SqlResult = tl::expected<T, SqlError>;

// What no server has said.
SqlError lost(std::string message);
// Of a result that is an error. Lost is also what a server says that ends the connection by it, or that cannot write
// any more: the one to write to is another by now.
SqlError error_of(const pg_result* result);
// libpq ends its messages with a new line, and has some of several lines and sentences.
std::string one_line(std::string_view text);

}  // namespace mete::store::postgres
