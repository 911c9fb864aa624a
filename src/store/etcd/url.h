// Where an etcd is and how it is reached, as a URL says it. No I/O.
//
//     etcd://host:2379,host:2379/prefix?timeout=1s       etcds:// with TLS: ca=, cert=, key=, verify=
#pragma once

#include <mete/result.h>

#include <chrono>
#include <string>
#include <string_view>

#include "store/network/server_url.h"

namespace mete::store::etcd {

inline constexpr std::size_t kPrefixBytesMax = 256;

// Its hosts are members of the cluster.
struct Url : ServerUrl {
  Url() { timeout = std::chrono::seconds(1); }  // an election takes about as long

  std::string prefix = "/mete/";  // of all keys
};

bool is_etcd_url(std::string_view text);

// The error says what is wrong and how it is written, and shows no password.
Result<Url> parse_url(std::string_view text);

}  // namespace mete::store::etcd
