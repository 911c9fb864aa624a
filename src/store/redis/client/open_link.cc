#include <utility>

#include "store/redis/client/cluster_topology.h"
#include "store/redis/client/routed_link.h"
#include "store/redis/client/sentinel_topology.h"
#include "store/redis/client/server_topology.h"

namespace mete::store::redis {

namespace {

std::unique_ptr<Topology> make_topology(const Url& url, const net::TlsClient* tls, bool has_scripts) {
  switch (url.shape) {
    case Shape::kServer:
      return std::make_unique<ServerTopology>(url, tls, has_scripts);
    case Shape::kSentinel:
      return std::make_unique<SentinelTopology>(url, tls, has_scripts);
    case Shape::kCluster:
      return std::make_unique<ClusterTopology>(url, tls, has_scripts);
  }
  __builtin_unreachable();
}

}  // namespace

Result<std::unique_ptr<Link>> open_link(std::string_view url, LinkUse use) {
  const auto parsed = parse_url(url);
  if (!parsed) return tl::unexpected(parsed.error());
  auto tls = load_tls(*parsed);
  if (!tls) return tl::unexpected(tls.error());
  auto topology = make_topology(*parsed, tls->get(), use == LinkUse::kStore);
  auto link = std::make_unique<RoutedLink>(std::move(*tls), std::move(topology), parsed->timeout);
  if (auto done = link->open(); !done) return tl::unexpected(done.error());
  return link;
}

}  // namespace mete::store::redis
