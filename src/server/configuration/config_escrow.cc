#include "server/configuration/config_escrow.h"

#include "base/check.h"
#include "net/address.h"
#include "server/configuration/config_settings.h"

namespace mete::server {

namespace {

// A setting of [escrow] that somebody has set, although there is no shared store.
std::optional<Conflict> check_alone(const Config& config) {
  const Config defaults;
  for (const Setting& setting : settings()) {
    const auto is_set = [&](auto member) { return config.*member != defaults.*member; };
    if (!setting.name.starts_with("escrow.") || !std::visit(is_set, setting.member)) continue;
    return Conflict{setting.name, "it means nothing without the store that the nodes share; set escrow.shared too"};
  }
  return std::nullopt;
}

std::optional<Conflict> check_stores(const Config& config) {
  if (config.escrow_node.empty()) {
    return Conflict{"escrow.shared", "a node needs a name that no other node has; set escrow.node too"};
  }
  if (config.escrow_shared.starts_with(kEmbedded)) {
    return Conflict{"escrow.shared",
                    "other nodes cannot share a store in this process; use etcd://, redis://, postgres:// or mete://"};
  }
  if (!config.store_location().starts_with(kEmbedded)) {
    return Conflict{"store.url",
                    "a node keeps its own state in a folder, and what all nodes share in escrow.shared; set "
                    "server.data instead"};
  }
  return std::nullopt;
}

std::optional<Conflict> check_tls(const Config& config) {
  const bool has_all =
      !config.escrow_tls_cert.empty() && !config.escrow_tls_key.empty() && !config.escrow_tls_ca.empty();
  constexpr std::string_view kAllThree =
      "nodes show each other certificates; set escrow.tls.cert, escrow.tls.key and escrow.tls.ca, or none of them";
  if (has_all) return std::nullopt;
  if (!config.escrow_tls_cert.empty()) return Conflict{"escrow.tls.cert", std::string(kAllThree)};
  if (!config.escrow_tls_key.empty()) return Conflict{"escrow.tls.key", std::string(kAllThree)};
  if (!config.escrow_tls_ca.empty()) return Conflict{"escrow.tls.ca", std::string(kAllThree)};
  return std::nullopt;
}

bool leads_nowhere(const net::Address& address) {
  if (address.is_unix()) return false;
  return address.port == 0 || address.host == "0.0.0.0" || address.host == "::";
}

std::optional<Conflict> check_link(const Config& config) {
  if (config.escrow_listen.empty()) {
    if (config.escrow_advertise.empty()) return std::nullopt;
    return Conflict{"escrow.advertise", "nobody listens there; set escrow.listen too"};
  }
  const auto listen = net::parse_address(config.escrow_listen);
  const auto found_at = net::parse_address(config.escrow_address());
  CHECK(listen.has_value() && found_at.has_value());
  if (leads_nowhere(*found_at)) {
    return Conflict{config.escrow_advertise.empty() ? "escrow.listen" : "escrow.advertise",
                    found_at->to_string() + " is no address that other nodes can connect to; set escrow.advertise"};
  }
  const bool is_guarded =
      !config.escrow_secret.empty() || !config.escrow_secret_file.empty() || !config.escrow_tls_cert.empty();
  if (listen->is_local() || is_guarded) return std::nullopt;
  return Conflict{"escrow.listen", listen->to_string() +
                                       " can be reached from other machines, and there is neither a secret nor a "
                                       "certificate; set escrow.secret, or escrow.tls.cert, .key and .ca"};
}

}  // namespace

std::optional<Conflict> find_escrow_conflict(const Config& config) {
  if (!config.is_node()) return check_alone(config);
  if (auto conflict = check_stores(config)) return conflict;
  if (auto conflict = check_tls(config)) return conflict;
  return check_link(config);
}

}  // namespace mete::server
