// Where an etcd is and how it is reached, as a URL says it. No I/O.
//
//     etcd://host:2379,host:2379/prefix?timeout=1s       etcds:// with TLS: ca=, cert=, key=, verify=
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "store/url_parts.h"

namespace mete::store::etcd {

inline constexpr std::size_t kPrefixBytesMax = 256;

struct Url {
  bool has_tls = false;
  std::vector<net::Address> hosts = {};  // members of the cluster
  std::string prefix = "/mete/";         // of all keys
  Credentials credentials = {};
  net::TlsClientOptions tls = {};
  Duration timeout = std::chrono::seconds(1);  // for each call; an election takes about as long
};

bool is_etcd_url(std::string_view text);

// The error says what is wrong and how it is written, and shows no password.
Result<Url> parse_url(std::string_view text);

}  // namespace mete::store::etcd
