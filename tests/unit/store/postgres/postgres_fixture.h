// What the tests of PostgreSQL's connections have in common.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include "store/postgres/connection.h"

namespace mete::store::postgres {

// For tests that are not about time.
inline net::Deadline patience() { return net::Deadline::in(std::chrono::seconds(20)); }

inline Connection must_open(const std::string& url) {
  auto connection = Connection::open(url, patience());
  if (!connection) throw std::runtime_error(connection.error().message);
  return std::move(*connection);
}

// The first value, "" if there is none, or why.
inline std::string text_of(const SqlResult<Rows>& rows) {
  if (!rows) return "failed: " + rows.error().state + " " + rows.error().message;
  return rows->size() == 0 ? std::string() : std::string(rows->text(0, 0));
}

}  // namespace mete::store::postgres
