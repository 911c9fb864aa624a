// What the URLs of servers have in common, whatever they are servers of: who asks, which hosts, TLS and a time-out.
// Pure.
//
//     scheme://[[user]:password@]host[:port][,host[:port]…][/path][?timeout=250ms&ca=…&cert=…&key=…&verify=no]
//
// Errors say the reason alone; whoever knows what the URL is for says the rest. They show no password.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"
#include "net/tls/tls_client.h"

namespace mete::store {

inline constexpr std::size_t kUrlHostsMax = 64;

// What the parameters of TLS are called, for errors.
inline constexpr net::TlsClientNames kUrlTlsNames = {
    .kind = "parameter", .ca = "ca=", .certificate = "cert=", .key = "key="};

struct Credentials {
  std::string user = {};      // empty: the default user
  std::string password = {};  // empty: none is sent

  bool operator==(const Credentials&) const = default;
};

struct ServerUrl {
  bool has_tls = false;
  std::vector<net::Address> hosts = {};
  Credentials credentials = {};
  net::TlsClientOptions tls = {};
  Duration timeout = std::chrono::milliseconds(250);  // for each call
};

// The timeout of a call, as ?timeout=250ms says it. The message of the error begins with the parameter's name.
inline constexpr Duration kTimeoutMin = std::chrono::milliseconds(1);
inline constexpr Duration kTimeoutMax = std::chrono::minutes(1);
Result<Duration> parse_timeout(std::string_view text);

// The pieces of what follows "scheme://", each without its separator.
struct UrlPieces {
  Credentials credentials = {};
  std::string_view hosts = {};
  std::string_view path = {};
  std::string_view query = {};
};
Result<UrlPieces> split_url(std::string_view rest);

// "host[:port],host[:port]"
Result<std::vector<net::Address>> parse_hosts(std::string_view text, std::uint16_t default_port);

// Sets one of timeout, ca, cert, key, verify; false if it is none of these.
Result<bool> set_parameter(ServerUrl& url, std::string_view name, const std::string& value);

// "name=value&name=value", of those alone.
Result<void> parse_parameters(std::string_view query, ServerUrl& url);

// What the URL says about TLS, read from its files; null without TLS.
Result<std::unique_ptr<net::TlsClient>> load_tls(const ServerUrl& url);

}  // namespace mete::store
