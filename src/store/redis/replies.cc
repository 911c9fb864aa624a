#include "store/redis/replies.h"

#include <string>
#include <string_view>

namespace mete::store::redis {

Result<wire::RespValue> unless_error(Result<wire::RespValue> reply) {
  if (!reply || !reply->is_error()) return reply;
  if (reply->text.starts_with("OOM ")) {
    return tl::make_unexpected(
        Error{ErrorCode::kOutOfMemory, "Redis has no memory left: raise its maxmemory; it says: " + reply->text});
  }
  return tl::make_unexpected(Error{ErrorCode::kUnavailable, "Redis refuses: " + reply->text});
}

Error unexpected_reply(std::string_view what) {
  return {ErrorCode::kUnavailable, "Redis has " + std::string(what) + ", which is not of Mete's making"};
}

}  // namespace mete::store::redis
