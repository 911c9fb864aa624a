// EmbeddedKeys: the engine's keys, with the store's clock and its care for what is on disk.
//
// Ownership: borrows all of them; part of an EmbeddedStore.
#pragma once

#include <mete/clock.h>

#include "engine/keys.h"
#include "store/embedded/acknowledger.h"
#include "store/keys.h"

namespace mete::store {

class EmbeddedKeys final : public Keys {
 public:
  EmbeddedKeys(engine::Keys& keys, const Clock& clock, const Acknowledger& acknowledge)
      : keys_(keys), clock_(clock), acknowledge_(acknowledge) {}

 private:
  Result<std::optional<std::int64_t>> do_get(std::string_view key) override { return keys_.get(key, now()); }
  Result<SetAnswer> do_set(const SetRequest& request) override {
    return acknowledge_.change([&] { return keys_.set(request, now()); });
  }
  Result<std::optional<std::int64_t>> do_take_out(std::string_view key) override {
    return acknowledge_.change([&] { return keys_.take_out(key, now()); });
  }
  Result<std::int64_t> do_add(std::string_view key, std::int64_t by) override {
    return acknowledge_.change([&] { return keys_.add(key, by, now()); });
  }
  Result<BoundedSum> do_add_bounded(const BoundedAdd& request) override {
    return acknowledge_.change([&] { return keys_.add_bounded(request, now()); });
  }
  Result<void> do_quota_set(std::string_view key, const QuotaRule& rule) override {
    return acknowledge_.settle([&] { return keys_.quota_set(key, rule, now()); });
  }
  Result<std::optional<QuotaStanding>> do_quota_get(std::string_view key) override {
    return keys_.quota_get(key, now());
  }
  Result<bool> do_quota_remove(std::string_view key) override {
    return acknowledge_.settle([&] { return keys_.quota_remove(key, now()); });
  }
  Result<Amount> do_quota_take(std::string_view key, const QuotaRule& rule, Amount units) override {
    return acknowledge_.change([&] { return keys_.quota_take(key, rule, units, now()); });
  }
  Result<core::Verdict> do_throttle(std::string_view key, const ThrottleRequest& request) override {
    return acknowledge_.change([&] { return keys_.throttle(key, request, now()); });
  }
  Result<KeyType> do_type(std::string_view key) override { return keys_.type(key, now()); }
  Result<bool> do_remove(std::string_view key, KeyReach reach) override {
    return acknowledge_.change([&]() -> Result<bool> { return keys_.remove(key, reach, now()); });
  }
  Result<std::optional<Instant>> do_expires_at(std::string_view key) override { return keys_.expires_at(key, now()); }
  Result<bool> do_expire(std::string_view key, const Expiry& expiry, ExpiryCondition condition) override {
    return acknowledge_.change([&] { return keys_.expire(key, expiry, condition, now()); });
  }
  Result<bool> do_persist(std::string_view key) override {
    return acknowledge_.change([&] { return keys_.persist(key, now()); });
  }
  Result<KeyPage> do_scan(std::uint64_t cursor, std::size_t count) override { return keys_.scan(cursor, count, now()); }
  Result<std::size_t> do_size() override { return keys_.size(); }

  [[nodiscard]] Instant now() const { return clock_.now(); }

  engine::Keys& keys_;
  const Clock& clock_;
  const Acknowledger& acknowledge_;
};

}  // namespace mete::store
