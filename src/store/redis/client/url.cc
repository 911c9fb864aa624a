#include "store/redis/client/url.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "wire/text.h"
#include "wire/uri.h"

namespace mete::store::redis {

namespace {

constexpr std::uint16_t kDefaultPort = 6379;
constexpr std::uint16_t kDefaultSentinelPort = 26379;

struct Scheme {
  std::string_view name;
  Shape shape;
  bool has_tls;
  bool is_unix;
};
constexpr Scheme kSchemes[] = {
    {"redis", Shape::kServer, false, false},
    {"rediss", Shape::kServer, true, false},
    {"redis+unix", Shape::kServer, false, true},
    {"redis+sentinel", Shape::kSentinel, false, false},
    {"rediss+sentinel", Shape::kSentinel, true, false},
    {"redis+cluster", Shape::kCluster, false, false},
    {"rediss+cluster", Shape::kCluster, true, false},
};

Error refuse(std::string_view reason) { return base::invalid("the URL of Redis is wrong: " + std::string(reason)); }

const Scheme* find_scheme(std::string_view name) {
  const auto* const found = std::ranges::find(kSchemes, name, &Scheme::name);
  return found == std::end(kSchemes) ? nullptr : found;
}

Result<void> parse_hosts_of(std::string_view text, Url& url) {
  if (text.starts_with("unix:")) return refuse("a Unix socket is written redis+unix:///path");
  auto hosts = parse_hosts(text, url.shape == Shape::kSentinel ? kDefaultSentinelPort : kDefaultPort);
  if (!hosts) return refuse(hosts.error().message);
  url.hosts = std::move(*hosts);
  if (url.shape == Shape::kServer && url.hosts.size() > 1) {
    return refuse("one host only; several are redis+sentinel://host,host/name or redis+cluster://host,host");
  }
  return {};
}

Result<void> parse_database(std::string_view text, Url& url) {
  if (text.empty()) return {};
  const auto number = wire::parse_integer(text);
  if (!number || *number < 0 || *number > kDatabaseMax) {
    return refuse("the database is a number, as in redis://host/0, and not " + wire::quote(text));
  }
  if (url.shape == Shape::kCluster && *number != 0) return refuse("a Cluster has the database 0 alone");
  url.database = *number;
  return {};
}

Result<void> parse_path(std::string_view path, Url& url) {
  if (url.shape != Shape::kSentinel) return parse_database(path, url);
  const std::size_t slash = path.find('/');
  auto name = wire::percent_decode(path.substr(0, slash), wire::Plus::kIsPlus);
  if (!name || name->empty()) {
    return refuse("the name of the master is missing; write redis+sentinel://host:26379,host:26379/name");
  }
  url.master_name = std::move(*name);
  return parse_database(slash == std::string_view::npos ? "" : path.substr(slash + 1), url);
}

// Those that only Sentinels have; false if it is none of them.
bool set_sentinel_parameter(Url& url, std::string_view name, const std::string& value) {
  if (name == "sentinel_user") {
    url.sentinel_credentials.user = value;
  } else if (name == "sentinel_password") {
    url.sentinel_credentials.password = value;
  } else {
    return false;
  }
  return true;
}

Result<void> parse_parameters(std::string_view query, Url& url) {
  const auto given = wire::split_query(query);
  if (!given) return refuse("its parameters, behind the '?', are not written as name=value&name=value");
  for (const auto& [name, value] : *given) {
    if (value.empty()) return refuse("the parameter " + name + " has no value");
    const auto is_set = set_parameter(url, name, value);
    if (!is_set.has_value()) return refuse(is_set.error().message);
    if (*is_set) continue;
    if (!set_sentinel_parameter(url, name, value)) {
      return refuse("it knows no parameter " + wire::quote(name) +
                    "; there are timeout, ca, cert, key, verify, sentinel_user and sentinel_password");
    }
    if (url.shape != Shape::kSentinel) return refuse("the parameter " + name + " is for redis+sentinel:// alone");
  }
  if (url.sentinel_credentials.password.empty() && !url.sentinel_credentials.user.empty()) {
    return refuse("sentinel_user needs sentinel_password");
  }
  return {};
}

Result<void> parse_unix(const UrlPieces& pieces, Url& url) {
  if (!pieces.hosts.empty()) return refuse("a Unix socket has three slashes: redis+unix:///path");
  auto path = wire::percent_decode(pieces.path, wire::Plus::kIsPlus);
  if (!path || path->empty()) return refuse("the path of the Unix socket is missing: redis+unix:///path");
  auto address = net::parse_address("unix:/" + *path);
  if (!address) return refuse(address.error().message);
  url.hosts.push_back(std::move(*address));
  return {};
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  constexpr std::string_view kSeparator = "://";
  const std::size_t separator = text.find(kSeparator);
  const Scheme* const scheme = find_scheme(text.substr(0, separator));
  if (separator == std::string_view::npos || scheme == nullptr) {
    return refuse("it begins with redis://, rediss://, redis+unix://, redis+sentinel:// or redis+cluster://");
  }
  Url url;
  url.shape = scheme->shape;
  url.has_tls = scheme->has_tls;
  auto pieces = split_url(text.substr(separator + kSeparator.size()));
  if (!pieces) return refuse(pieces.error().message);
  url.credentials = std::move(pieces->credentials);
  auto done = scheme->is_unix
                  ? parse_unix(*pieces, url)
                  : parse_hosts_of(pieces->hosts, url).and_then([&] { return parse_path(pieces->path, url); });
  if (!done) return done.error();
  if (done = parse_parameters(pieces->query, url); !done) return done.error();
  return url;
}

}  // namespace mete::store::redis
