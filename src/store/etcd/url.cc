#include "store/etcd/url.h"

#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "wire/uri.h"

namespace mete::store::etcd {

namespace {

constexpr std::uint16_t kDefaultPort = 2379;
constexpr std::string_view kPlain = "etcd://";
constexpr std::string_view kWithTls = "etcds://";

Error refuse(std::string_view reason) { return base::invalid("the URL of etcd is wrong: " + std::string(reason)); }

Result<void> read_path(std::string_view path, Url& url) {
  if (path.empty()) return {};
  auto name = wire::percent_decode(path, wire::Plus::kIsPlus);
  if (!name) return refuse("a '%' in the prefix is written %25");
  if (name->ends_with('/')) name->pop_back();
  if (name->empty()) return refuse("the prefix is empty; leave it out for '/mete/'");
  if (name->size() > kPrefixBytesMax) {
    return refuse("the prefix is longer than " + std::to_string(kPrefixBytesMax) + " bytes");
  }
  url.prefix = "/" + *name + "/";
  return {};
}

}  // namespace

bool is_etcd_url(std::string_view text) { return text.starts_with("etcd:") || text.starts_with("etcds:"); }

Result<Url> parse_url(std::string_view text) {
  Url url;
  url.has_tls = text.starts_with(kWithTls);
  if (!url.has_tls && !text.starts_with(kPlain)) return refuse("it begins with etcd:// or etcds://");
  auto pieces = split_url(text.substr(url.has_tls ? kWithTls.size() : kPlain.size()));
  if (!pieces) return refuse(pieces.error().message);
  url.credentials = std::move(pieces->credentials);
  if (url.credentials.user.empty() && !url.credentials.password.empty()) {
    return refuse("etcd has no default user: in front of the '@' stands 'user:password'");
  }
  auto hosts = parse_hosts(pieces->hosts, kDefaultPort);
  if (!hosts) return refuse(hosts.error().message);
  url.hosts = std::move(*hosts);
  TRY(read_path(pieces->path, url));
  if (auto done = parse_parameters(pieces->query, url); !done) return refuse(done.error().message);
  url.tls.protocol = "h2";
  return url;
}

}  // namespace mete::store::etcd
