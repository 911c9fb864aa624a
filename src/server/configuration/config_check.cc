// Whether the values of a configuration go together.
#include "base/check.h"
#include "net/address.h"
#include "server/configuration/config_draft.h"
#include "server/configuration/config_settings.h"
#include "store/mete/url.h"

namespace mete::server {

namespace {

bool has_password(const Config& config) { return !config.password.empty() || !config.password_file.empty(); }

bool is_guarded(const Config& config) { return has_password(config) || !config.tls_cert.empty(); }

std::optional<Conflict> check_reach(std::string_view setting, const std::vector<std::string>& addresses) {
  for (const std::string& text : addresses) {
    const auto address = net::parse_address(text);
    CHECK(address.has_value());
    if (address->is_local()) continue;
    return Conflict{setting,
                    text +
                        " can be reached from other machines, and there is neither a password nor a certificate; set "
                        "server.password or server.tls.cert and .key, or server.insecure (--insecure) if "
                        "that is meant"};
  }
  return std::nullopt;
}

std::optional<Conflict> check_listeners(const Config& config) {
  if (config.resp.empty() && config.http.empty()) {
    return Conflict{"server.resp", "nothing is left to listen on: server.resp and server.http are both off"};
  }
  if (config.insecure || is_guarded(config)) return std::nullopt;
  if (auto conflict = check_reach("server.resp", config.resp)) return conflict;
  return check_reach("server.http", config.http);
}

std::optional<Conflict> check_tls(const Config& config) {
  if (config.tls_cert.empty() && !config.tls_key.empty()) {
    return Conflict{"server.tls.key", "a key needs its certificate; set server.tls.cert too"};
  }
  if (config.tls_key.empty() && !config.tls_cert.empty()) {
    return Conflict{"server.tls.cert", "a certificate needs its key; set server.tls.key too"};
  }
  if (config.tls_cert.empty() && !config.tls_client_ca.empty()) {
    return Conflict{"server.tls.client_ca",
                    "only a server that speaks TLS can ask for certificates; set "
                    "server.tls.cert and server.tls.key too"};
  }
  return std::nullopt;
}

std::optional<Conflict> check_passwords(const Config& config) {
  if (!has_password(config)) {
    constexpr std::string_view kNobody =
        "nobody could change limits or the server with it alone; set server.password too";
    if (!config.use_password.empty()) return Conflict{"server.use_password", std::string(kNobody)};
    if (!config.use_password_file.empty()) return Conflict{"server.use_password_file", std::string(kNobody)};
  }
  if (!config.password.empty() && config.password == config.use_password) {
    return Conflict{"server.use_password", "it is the same as server.password, which allows everything; use another"};
  }
  return std::nullopt;
}

bool is_wildcard(const net::Address& address) { return address.host == "0.0.0.0" || address.host == "::"; }

// Whether whoever asks for `host` reaches the one who listens there. Names are not looked up: this is for what is seen
// at a glance, and a way around it ends in the time-out of a call.
bool reaches(const net::Address& host, const net::Address& listener) {
  if (host.port != listener.port || listener.is_unix()) return false;
  return host.host == listener.host || (host.is_local() && (listener.is_local() || is_wildcard(listener)));
}

std::optional<Conflict> check_store(const Config& config, std::string_view setting, const std::string& store) {
  if (!store::servers::is_mete_url(store)) return std::nullopt;
  const auto url = store::servers::parse_url(store);
  if (!url) return std::nullopt;  // opening it says what is wrong
  for (const std::string& text : config.resp) {
    const auto listener = net::parse_address(text);
    CHECK(listener.has_value());
    for (const net::Address& host : url->hosts) {
      if (!reaches(host, *listener)) continue;
      return Conflict{setting, host.to_string() +
                                   " is where this server itself listens (server.resp): a store is "
                                   "another server, or a folder"};
    }
  }
  return std::nullopt;
}

// --- [escrow]
// ---------------------------------------------------------------------------------------------------------

// A setting of [escrow] that somebody has set, although there is no shared store.
std::optional<Conflict> check_no_escrow(const Config& config) {
  const Config defaults;
  for (const Setting& setting : settings()) {
    const auto is_set = [&](auto member) { return config.*member != defaults.*member; };
    if (!setting.name.starts_with("escrow.") || !std::visit(is_set, setting.member)) continue;
    return Conflict{setting.name, "it means nothing without the store that the nodes share; set escrow.shared too"};
  }
  return std::nullopt;
}

std::optional<Conflict> check_node_stores(const Config& config) {
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

std::optional<Conflict> check_link_tls(const Config& config) {
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
  return !address.is_unix() && (address.port == 0 || is_wildcard(address));
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

std::optional<Conflict> check_escrow(const Config& config) {
  if (!config.is_node()) return check_no_escrow(config);
  if (auto conflict = check_node_stores(config)) return conflict;
  if (auto conflict = check_link_tls(config)) return conflict;
  return check_link(config);
}

}  // namespace

std::optional<Conflict> find_conflict(const Config& config) {
  if (auto conflict = check_tls(config)) return conflict;
  if (auto conflict = check_passwords(config)) return conflict;
  if (auto conflict = check_listeners(config)) return conflict;
  if (auto conflict = check_store(config, "store.url", config.store_url)) return conflict;
  if (auto conflict = check_store(config, "escrow.shared", config.escrow_shared)) return conflict;
  if (auto conflict = check_escrow(config)) return conflict;
  if (config.bulk_max > config.query_buffer_max) {
    return Conflict{"server.bulk_max", "an argument of " + std::to_string(config.bulk_max) +
                                           " bytes does not fit into server.query_buffer_max, which is " +
                                           std::to_string(config.query_buffer_max)};
  }
  return std::nullopt;
}

}  // namespace mete::server
