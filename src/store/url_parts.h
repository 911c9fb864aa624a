// What the URLs of stores that lie elsewhere have in common: scheme://user:password@host:port,host/path?name=value.
// Pure.
//
// An error says the reason alone, and shows no password: whoever knows which URL it is says the rest.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"
#include "net/tls_client.h"

namespace mete::store {

inline constexpr std::size_t kUrlHostsMax = 64;

struct Credentials {
  std::string user = {};      // empty: the default user
  std::string password = {};  // empty: none is sent

  bool operator==(const Credentials&) const = default;
};

// What follows "scheme://", each without its separator.
struct UrlPieces {
  Credentials credentials;
  std::string_view hosts;
  std::string_view path;
  std::string_view query;
};

Result<UrlPieces> split_url(std::string_view rest);

// "host", "host:port", several with commas.
Result<std::vector<net::Address>> parse_hosts(std::string_view text, std::uint16_t default_port);

// The parameters of TLS: ca, cert, key and verify; and what they are called in errors about their files.
bool is_tls_parameter(std::string_view name);
Result<void> set_tls_parameter(net::TlsClientOptions& tls, std::string_view name, const std::string& value);
inline constexpr net::TlsClientNames kTlsNames = {
    .kind = "parameter", .ca = "ca=", .certificate = "cert=", .key = "key="};

}  // namespace mete::store
