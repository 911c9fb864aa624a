// SqlError: why a statement was not done, as PostgreSQL or the way to it says it.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace mete::store::postgres {

struct SqlError {
  std::string state = {};  // SQLSTATE; empty where no server has said it
  std::string message = {};
  std::string hint = {};  // what to do, where the server says so
  bool is_lost = false;   // the connection is of no use any more
};

template <class T>
using SqlResult = tl::expected<T, SqlError>;

}  // namespace mete::store::postgres
