// Whether the values of a configuration go together.
#include "base/check.h"
#include "net/address.h"
#include "server/configuration/config_draft.h"
#include "server/configuration/config_settings.h"
#include "store/mete/url.h"

namespace mete::server {

namespace {

bool has_password(const Config& config) { return !config.password.empty() || !config.password_file.empty(); }

// A certificate of the server's own hides what is said, and keeps nobody out.
bool is_guarded(const Config& config) { return has_password(config) || !config.tls_client_ca.empty(); }

std::optional<Conflict> check_reach(std::string_view setting, const std::vector<std::string>& addresses) {
  for (const std::string& text : addresses) {
    const auto address = net::parse_address(text);
    CHECK(address.has_value());
    if (address->is_local()) continue;
    return Conflict{setting,
                    text +
                        " can be reached from other machines, and whoever reaches it could do everything; set "
                        "server.password or server.tls.client_ca, or server.insecure (--insecure) if that is meant"};
  }
  return std::nullopt;
}

std::optional<Conflict> check_listeners(const Config& config) {
  if (config.resp.empty() && config.http.empty() && config.grpc.empty()) {
    return Conflict{
        "server.resp",
        "nothing is left to listen on: server.resp and server.http are both off, and there is no server.grpc"};
  }
  if (config.insecure || is_guarded(config)) return std::nullopt;
  if (auto conflict = check_reach("server.resp", config.resp)) return conflict;
  if (auto conflict = check_reach("server.http", config.http)) return conflict;
  return check_reach("server.grpc", config.grpc);
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

bool have_common_line(std::string_view some, std::string_view others) {
  for (std::string_view one : password_lines(some)) {
    for (std::string_view other : password_lines(others)) {
      if (one == other) return true;
    }
  }
  return false;
}

std::optional<Conflict> check_passwords(const Config& config) {
  if (!has_password(config)) {
    constexpr std::string_view kNobody =
        "nobody could change limits or the server with it alone; set server.password too";
    if (!config.use_password.empty()) return Conflict{"server.use_password", std::string(kNobody)};
    if (!config.use_password_file.empty()) return Conflict{"server.use_password_file", std::string(kNobody)};
    if (!config.look_password.empty()) return Conflict{"server.look_password", std::string(kNobody)};
    if (!config.look_password_file.empty()) return Conflict{"server.look_password_file", std::string(kNobody)};
  }
  if (have_common_line(config.password, config.use_password)) {
    return Conflict{"server.use_password", "it is the same as server.password, which allows everything; use another"};
  }
  if (have_common_line(config.password, config.look_password) ||
      have_common_line(config.use_password, config.look_password)) {
    return Conflict{"server.look_password", "it is the same as another password, which allows more; use another"};
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

std::optional<Conflict> check_escrow(const Config& config) {
  if (!config.is_node()) return check_no_escrow(config);
  return check_node_stores(config);
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
