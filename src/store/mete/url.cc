#include "store/mete/url.h"
#include "base/errors.h"
#include "base/try.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mete::store::servers {

namespace {

constexpr std::string_view kPlain = "mete:";
constexpr std::string_view kTls = "metes:";
constexpr std::string_view kSlashes = "//";

Error refuse(std::string_view reason) {
  return base::invalid("the URL of the Mete server is wrong: " + std::string(reason));
}

Result<void> check_hosts(const std::vector<net::Address>& hosts) {
  for (auto host = hosts.begin(); host != hosts.end(); ++host) {
    if (host->is_unix()) return refuse("it has hosts and ports alone, as in mete://host:6380");
    if (std::find(hosts.begin(), host, *host) != host) return refuse(host->to_string() + " stands there twice");
  }
  return {};
}

}  // namespace

bool is_mete_url(std::string_view text) { return text.starts_with(kPlain) || text.starts_with(kTls); }

Result<ServerUrl> parse_url(std::string_view text) {
  ServerUrl url;
  url.has_tls = text.starts_with(kTls);
  if (is_mete_url(text)) text.remove_prefix(url.has_tls ? kTls.size() : kPlain.size());
  if (!text.starts_with(kSlashes)) return refuse("it begins with mete:// or metes://");
  auto pieces = split_url(text.substr(kSlashes.size()));
  if (!pieces) return refuse(pieces.error().message);
  url.credentials = std::move(pieces->credentials);
  auto hosts = parse_hosts(pieces->hosts, kDefaultPort);
  if (!hosts) return refuse(hosts.error().message);
  TRY(check_hosts(*hosts));
  url.hosts = std::move(*hosts);
  if (!pieces->path.empty())
    return refuse("behind the hosts comes nothing but parameters, as in mete://host?timeout=1s");
  if (auto done = parse_parameters(pieces->query, url); !done) return refuse(done.error().message);
  return url;
}

}  // namespace mete::store::servers
