// KeyRecord: a key as its text in Redis tells it. The script lua/keys.lua writes that text, and has its grammar.
#pragma once

#include <mete/result.h>

#include <string_view>

#include "core/key_operations.h"
#include "core/meter.h"

namespace mete::store::redis {

struct KeyRecord {
  core::KeyType type = core::KeyType::kNone;
  // A counter's.
  std::int64_t value = 0;
  Instant expires_at = Instant::max();
  // A quota's or throttle's.
  core::Rule rule = {};
  core::State state = {};
  Instant written_at = {};  // nothing of it was earlier

  [[nodiscard]] bool is_counter_or_none() const {
    return type == core::KeyType::kCounter || type == core::KeyType::kNone;
  }
  // Lets a quota's windows pass; the moment that goes with its state then. It is not before what was written.
  core::Moment settle(Instant now);
};

// An error if it is no such text.
Result<KeyRecord> read_key_record(std::string_view text);

}  // namespace mete::store::redis
