// Keys::Access: one key, opened for an operation. Internal to the source files of Keys.
//
// Thread safety: used under the lock of the key's bucket.
#pragma once

#include <utility>

#include "engine/keys.h"
#include "engine/table/memory_gauge.h"

namespace mete::engine {

// The payload of a counter's entry.
struct CounterRecord {
  std::int64_t value = 0;
  Instant expires_at = Instant::max();  // max: never

  [[nodiscard]] bool is_expiring() const { return expires_at != Instant::max(); }
};

// The payload of a quota's or throttle's entry.
struct RuledRecord {
  const RuleRecord* rule = nullptr;      // a reference in the rule table
  std::array<std::uint64_t, 2> state{};  // a window's or a bucket's
};
static_assert(sizeof(RuledRecord::state) == core::state_size({Kind::kWindow, 1, 1, {}}));
static_assert(sizeof(RuledRecord::state) == core::state_size({Kind::kBucket, 1, 1, {}}));

inline KeyType type_of(const Entry& key) { return static_cast<KeyType>(key.flags & ~kRecordingFlags); }

struct Keys::Access {
  std::uint64_t hash = 0;
  std::string_view key;
  Instant now;
  core::Ticket* ticket = nullptr;  // of the occasion

  Entry* entry = nullptr;  // null exactly if the type is kNone
  KeyType type = KeyType::kNone;
  CounterRecord counter;  // of a counter; else as a new one's
  // Of a quota or throttle, settled.
  const RuleRecord* rule = nullptr;
  core::State state{core::State::Undefined()};
  core::Moment moment;
  Durable durable = Durable::kEverySecond;  // of what is done to it

  [[nodiscard]] bool is_counter_or_none() const { return type == KeyType::kCounter || type == KeyType::kNone; }
  [[nodiscard]] bool has_gone() const {
    if (type == KeyType::kCounter) return counter.expires_at <= now;
    return type == KeyType::kThrottle && core::is_fresh(rule->rule(), state, moment);
  }
};

// Calls use() with a key, opened under its lock.
template <class Use>
auto Keys::with_key(std::uint64_t hash, std::string_view key, Occasion at, Use use) {
  const Keyspace::Guard guard(keyspace_, hash);
  Access access = find(guard, hash, key, at);
  forget_if_gone(access);
  return use(access);
}

template <class Attempt>
auto Keys::with_room(Instant now, Attempt attempt) {
  return try_with_eviction(std::move(attempt), [&] { return evict_(now); });
}

}  // namespace mete::engine
