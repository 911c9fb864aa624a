// What Redis's error replies are to a caller of the store.
#pragma once

#include <mete/result.h>

#include "wire/resp_reply.h"

namespace mete::store::redis {

// The reply, if it is none of an error: else kOutOfMemory, or kUnavailable with Redis's words.
Result<wire::RespValue> unless_error(Result<wire::RespValue> reply);

// What to say of a reply, or of what is in Redis, that is not as this program makes it.
Error unexpected_reply(std::string_view what);

}  // namespace mete::store::redis
