// RedisKeysStore: a store that has the keys of a Redis, and nothing else.
#pragma once

#include "store/keys.h"
#include "store/redis/redis_keys.h"

namespace mete::support {

class RedisKeysStore final : public store::StoreOf<RedisKeysStore> {
 public:
  RedisKeysStore(store::redis::Link& link, store::redis::Session& session) : keys_(link, session), session_(session) {}

  [[nodiscard]] Instant now() const override { return session_.clock.now(); }
  [[nodiscard]] store::redis::RedisKeys& redis() { return keys_; }

 private:
  friend class store::StoreOf<RedisKeysStore>;

  template <class What>
  Result<typename What::Answer> perform(const What& operation) {
    if constexpr (core::kIsOnKeys<What>) {
      return keys_.perform(operation);
    } else {
      return Error{ErrorCode::kUnavailable, "there are keys alone"};
    }
  }

  store::redis::RedisKeys keys_;
  store::redis::Session& session_;
};

}  // namespace mete::support
