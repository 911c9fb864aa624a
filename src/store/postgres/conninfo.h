// Conninfo: what of a URL that libpq takes is looked at here, as libpq reads it. No I/O.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace mete::store::postgres {

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
tl::expected<Conninfo, std::string> parse_conninfo(const std::string& url);

}  // namespace mete::store::postgres
