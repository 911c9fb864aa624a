// The keys of an engine, with a time that tests move.
#pragma once

#include <limits>

#include "unit/engine/engine_fixture.h"

namespace mete::engine::testing {

using core::Expiry;
using core::ExpiryCondition;
using core::SetCondition;

inline constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

class KeysTest : public ::testing::Test {
 protected:
  std::optional<std::int64_t> get(std::string_view key) { return keys.get(key, subject.now).value(); }
  core::SetAnswer set(std::string_view key, std::int64_t value, Expiry expiry = Expiry::none(),
                      SetCondition condition = SetCondition::kAlways) {
    return keys.set({.key = key, .value = value, .expiry = expiry, .condition = condition}, subject.now).value();
  }
  std::int64_t add(std::string_view key, std::int64_t by) { return keys.add(key, by, subject.now).value(); }
  core::BoundedSum add_bounded(const core::AddBounded& request) {
    return keys.add_bounded(request, subject.now).value();
  }
  void quota(std::string_view key, Amount amount, Duration window) {
    keys.quota_set(key, {amount, window}, subject.now).value();
  }
  core::Verdict throttle(std::string_view key, const core::ThrottleRequest& request) {
    return keys.throttle(key, request, subject.now).value();
  }
  KeyType type(std::string_view key) { return keys.type(key, subject.now); }
  std::optional<Instant> expires_at(std::string_view key) { return keys.expires_at(key, subject.now); }
  std::optional<Duration> ttl(std::string_view key) {
    const auto end = expires_at(key);
    if (!end) return std::nullopt;
    return *end == Instant::max() ? Duration::never() : *end - subject.now;
  }
  bool expire(std::string_view key, Expiry expiry, ExpiryCondition condition = ExpiryCondition::kAlways) {
    return keys.expire(key, expiry, condition, subject.now).value();
  }

  template <class AnyResult>
  static std::optional<ErrorCode> code_of(const AnyResult& result) {
    return result.has_value() ? std::nullopt : std::optional(result.error().code);
  }

  void advance(Duration step) { subject.now = subject.now + step; }

  // One key of each type.
  void make_each() {
    set("counter", 5);
    quota("quota", 10, 60s);
    throttle("throttle", {.capacity = 5, .count = 1, .period = 1s});
  }

  Subject subject;
  Keys& keys = subject.engine.keys();
};

}  // namespace mete::engine::testing
