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
#include <vector>

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

// Conninfo: what of a URL that libpq takes is looked at here, as libpq reads it.
inline constexpr std::size_t kHostsMax = 64;

// One of the servers. Empty is what the URL does not say.
struct Host {
  std::string name = {};
  std::string address = {};  // hostaddr
  std::string port = {};

  bool operator==(const Host&) const = default;
};

struct Conninfo {
  std::vector<Host> hosts = {};  // none: where libpq looks by itself
  std::string options = {};
};

// The error is libpq's own, in one line, or of the same kind. It may show a part of the URL.
Result<Conninfo, std::string> parse_conninfo(const std::string& url);

}  // namespace mete::store::postgres
