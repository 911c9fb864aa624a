// Where a Redis is and how it is reached, as a URL says it. No I/O.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"
#include "net/tls_client.h"
#include "store/url_parts.h"

namespace mete::store::redis {

enum class Shape : std::uint8_t { kServer, kSentinel, kCluster };

inline constexpr std::int64_t kDatabaseMax = 1'000'000;

struct Url {
  Shape shape = Shape::kServer;
  bool has_tls = false;
  std::vector<net::Address> hosts = {};  // the server; or the Sentinels; or some nodes of the Cluster
  std::string master_name = {};          // as the Sentinels know it
  std::int64_t database = 0;
  Credentials credentials = {};
  Credentials sentinel_credentials = {};
  net::TlsClientOptions tls = {};
  Duration timeout = std::chrono::milliseconds(250);  // for each call
};

// link.h has the forms. The error says what is wrong and how it is written, and shows no password.
Result<Url> parse_url(std::string_view text);

}  // namespace mete::store::redis
