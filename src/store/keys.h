// Keys: what a store keeps beside the meters of named limits, as users of Redis know it: counters, and quotas and
// throttles that carry their own rule. One key has one type; an operation for another one is kWrongType.
//
// As with Store, the public calls check their arguments and an adapter implements the private ones; the store owns the
// clock. Thread safety: every call from any thread; each is atomic, and an error has changed nothing.
#pragma once

#include <mete/result.h>

#include <optional>
#include <string_view>

#include "core/key_requests.h"
#include "core/verdict.h"

namespace mete::store {

using core::BoundedAdd;
using core::BoundedSum;
using core::Expiry;
using core::ExpiryCondition;
using core::KeyPage;
using core::KeyReach;
using core::KeyType;
using core::QuotaRule;
using core::QuotaStanding;
using core::SetAnswer;
using core::SetCondition;
using core::SetRequest;
using core::ThrottleRequest;

class Keys {
 public:
  Keys() = default;
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  virtual ~Keys() = default;

  // A counter's value, or what remains of a quota; none if there is no such key.
  [[nodiscard]] Result<std::optional<std::int64_t>> get(std::string_view key);
  // Makes the key a counter, whatever it was, within the request's reach.
  Result<SetAnswer> set(const SetRequest& request);
  // Removes a counter, and tells what it was.
  Result<std::optional<std::int64_t>> take_out(std::string_view key);
  // Adds to a counter, made at 0 if there is none, and returns the sum. On a quota: as quota_take.
  Result<std::int64_t> add(std::string_view key, std::int64_t by);
  // Adds to a counter. Where that leads out of the bounds nothing changes; or, to saturate, it becomes the bound.
  Result<BoundedSum> add_bounded(const BoundedAdd& request);

  // Defines the quota, or changes it: what is used stays used.
  Result<void> quota_set(std::string_view key, const QuotaRule& rule);
  [[nodiscard]] Result<std::optional<QuotaStanding>> quota_get(std::string_view key);
  Result<bool> quota_remove(std::string_view key);
  // Defines the quota if there is none, then consumes: what remains, or kQuotaDenied.
  Result<Amount> quota_take(std::string_view key, const QuotaRule& rule, Amount units);
  // Takes from a throttle with this rule. A rule that is not the key's present one replaces it, and the usage stays.
  Result<core::Verdict> throttle(std::string_view key, const ThrottleRequest& request);

  [[nodiscard]] Result<KeyType> type(std::string_view key);
  // False if there is no such key, or none within reach.
  Result<bool> remove(std::string_view key, KeyReach reach = KeyReach::kAnyKey);
  // None if there is no such key; Instant::max() if it does not expire. Of a throttle: when it will be full.
  [[nodiscard]] Result<std::optional<Instant>> expires_at(std::string_view key);
  // Sets when a counter expires; false if there is no such key, or if the condition is not met. kWrongType on a quota
  // or throttle.
  Result<bool> expire(std::string_view key, const Expiry& expiry, ExpiryCondition condition = ExpiryCondition::kAlways);
  // False if there is nothing to change.
  Result<bool> persist(std::string_view key);

  // Lists keys, about `count` at a time, while everything goes on. Start with cursor 0; cursor 0 in the answer means
  // that this was the last page. A page may be empty. A key that is there throughout is listed exactly once.
  [[nodiscard]] Result<KeyPage> scan(std::uint64_t cursor, std::size_t count);
  // How many there are; those that have expired count until they are noticed.
  [[nodiscard]] Result<std::size_t> size();

 private:
  virtual Result<std::optional<std::int64_t>> do_get(std::string_view key) = 0;
  virtual Result<SetAnswer> do_set(const SetRequest& request) = 0;
  virtual Result<std::optional<std::int64_t>> do_take_out(std::string_view key) = 0;
  virtual Result<std::int64_t> do_add(std::string_view key, std::int64_t by) = 0;
  virtual Result<BoundedSum> do_add_bounded(const BoundedAdd& request) = 0;
  virtual Result<void> do_quota_set(std::string_view key, const QuotaRule& rule) = 0;
  virtual Result<std::optional<QuotaStanding>> do_quota_get(std::string_view key) = 0;
  virtual Result<bool> do_quota_remove(std::string_view key) = 0;
  virtual Result<Amount> do_quota_take(std::string_view key, const QuotaRule& rule, Amount units) = 0;
  virtual Result<core::Verdict> do_throttle(std::string_view key, const ThrottleRequest& request) = 0;
  virtual Result<KeyType> do_type(std::string_view key) = 0;
  virtual Result<bool> do_remove(std::string_view key, KeyReach reach) = 0;
  virtual Result<std::optional<Instant>> do_expires_at(std::string_view key) = 0;
  virtual Result<bool> do_expire(std::string_view key, const Expiry& expiry, ExpiryCondition condition) = 0;
  virtual Result<bool> do_persist(std::string_view key) = 0;
  virtual Result<KeyPage> do_scan(std::uint64_t cursor, std::size_t count) = 0;
  virtual Result<std::size_t> do_size() = 0;
};

}  // namespace mete::store
