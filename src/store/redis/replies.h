// Replies of Redis, as the store and its keys read them.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/client/link.h"

namespace mete::store::redis {

// The reply, if it is none of an error: else kOutOfMemory, or kUnavailable with Redis's words.
Result<wire::RespValue> unless_error(Result<wire::RespValue> reply);

// What to say of a reply, or of what is in Redis, that is not as this program makes it.
Error unexpected_reply(std::string_view what);

// One step of a SCAN on one master after the other, while everything goes on. Redis may tell a name twice.
struct ScanPage {
  std::uint64_t cursor = 0;  // 0: this was the last page
  std::vector<std::string> names = {};
};
Result<ScanPage> scan_masters(Link& link, std::string_view pattern, std::uint64_t cursor, std::size_t count);

}  // namespace mete::store::redis
