// Where a Redis is and how it is reached, as a URL says it. No I/O.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "store/network/server_url.h"

namespace mete::store::redis {

enum class Shape : std::uint8_t { kServer, kSentinel, kCluster };

inline constexpr std::int64_t kDatabaseMax = 1'000'000;

// The hosts: the server; or the Sentinels; or some nodes of the Cluster.
struct Url : ServerUrl {
  Shape shape = Shape::kServer;
  std::string master_name = {};  // as the Sentinels know it
  std::int64_t database = 0;
  Credentials sentinel_credentials = {};
};

// link.h has the forms. The error says what is wrong and how it is written, and shows no password.
Result<Url> parse_url(std::string_view text);

}  // namespace mete::store::redis
