// Where a PostgreSQL is and how it is reached, as a URL says it. No I/O.
//
//     postgres://user:password@host:5432/database?timeout=500ms&pool=8&sslmode=verify-full
//     postgres://user@first,second:5433/database?target_session_attrs=read-write
//     postgres:///database?host=/run/postgresql
//
// `timeout` and `pool` are Mete's. All else is libpq's, with its parameters, environment variables and password file.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace mete::store::postgres {

inline constexpr std::size_t kPoolMax = 256;

struct Url {
  std::string libpq = {};                      // without what is Mete's
  Duration timeout = std::chrono::seconds(1);  // for each call
  std::size_t pool = 16;                       // connections at most
};

// postgres:// or postgresql://.
bool is_postgres_url(std::string_view text);
// The error says what is wrong and how it is written, and shows no password.
Result<Url> parse_url(std::string_view text);

}  // namespace mete::store::postgres
