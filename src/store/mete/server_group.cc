#include "store/mete/server_group.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/random.h"
#include "base/try.h"
#include "wire/text.h"

namespace mete::store::servers {

namespace {

std::vector<std::string> names_of(const ServerUrl& url) {
  std::vector<std::string> names;
  for (const net::Address& host : url.hosts) names.push_back(host.to_string());
  return names;
}

Error apart(const Charge& one, const Charge& other) {
  return base::invalid("the keys " + wire::quote(one.key) + " and " + wire::quote(other.key) +
                       " are at different servers, and a hold is at one: give the keys that are held together the "
                       "same text in braces, such as {acme}:storage and {acme}:requests");
}

}  // namespace

ServerGroup::ServerGroup(const ServerUrl& url, std::unique_ptr<net::TlsClient> tls, std::span<const std::string> names)
    : tls_(std::move(tls)), rendezvous_(names) {
  const redis::NodeSettings settings = {.credentials = url.credentials, .tls = tls_.get()};
  for (const net::Address& host : url.hosts) servers_.push_back(std::make_unique<Server>(host, settings, url.timeout));
}

Result<std::unique_ptr<ServerGroup>> ServerGroup::open(const ServerUrl& url) {
  auto tls = TRY(load_tls(url));
  std::unique_ptr<ServerGroup> group(new ServerGroup(url, std::move(tls), names_of(url)));
  std::optional<Error> absence;
  std::size_t absent = 0;
  for (const auto& server : group->servers_) {
    const auto greeted = group->greet(*server);
    if (greeted) continue;
    // What the URL has wrong will not come right by itself.
    if (greeted.error().code != ErrorCode::kUnavailable) return greeted.error();
    if (!absence) absence = greeted.error();
    ++absent;
  }
  if (absent == group->servers_.size()) return *absence;
  return group;
}

// It is a Mete server of this format, and so is whatever it keeps its limits in: a list of them goes all the way.
Result<void> ServerGroup::greet(Server& server) {
  TRY(ask(server, core::ReadStatistics()));
  TRY(ask(server, core::ListLimits()));
  return {};
}

Result<Server*> ServerGroup::home_of(std::span<const Charge> charges) {
  Server& home = home_of(charges[0].key);
  for (const Charge& charge : charges.subspan(1)) {
    if (&home_of(charge.key) != &home) return apart(charges[0], charge);
  }
  return &home;
}

std::vector<Server*> ServerGroup::from_home_of(std::string_view id) {
  std::vector<Server*> order;
  for (const auto& server : servers_) order.push_back(server.get());
  std::swap(order[0], order[rendezvous_.owner_of(id)]);
  return order;
}

std::string ServerGroup::new_id(std::string_view key) const {
  const std::size_t home = rendezvous_.owner_of(key);
  std::string id = base::random_id();
  while (rendezvous_.owner_of(id) != home) id = base::random_id();
  return id;
}

RemoteStatus ServerGroup::status() const {
  RemoteStatus status;
  status.shape = "mete";
  for (const auto& server : servers_) {
    status.nodes.push_back(server->address().to_string());
    server->lines().add_to(status);
    status.failures += server->failures();
    status.is_reachable = status.is_reachable && !server->lines().is_away();
  }
  return status;
}

}  // namespace mete::store::servers
