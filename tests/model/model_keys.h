// ModelKeys: keys as docs/semantics.md has them, in a map, slow and obvious. Arguments are checked by the seam, as for
// every store; quotas and throttles are meters of the model.
#pragma once

#include <mete/clock.h>

#include <map>
#include <optional>
#include <string>

#include "model/model_meter.h"
#include "store/keys.h"

namespace mete::model {

class ModelKeys final : public store::Keys {
 public:
  explicit ModelKeys(const Clock& clock) : clock_(clock) {}

 private:
  struct Key {
    store::KeyType type = store::KeyType::kCounter;
    std::int64_t value = 0;
    std::optional<Wide> expires_at;
    std::optional<ModelMeter> meter;  // of a quota or throttle
    store::QuotaRule quota;
  };
  using Place = std::map<std::string, Key, std::less<>>::iterator;

  Result<std::optional<std::int64_t>> do_get(std::string_view key) override;
  Result<store::SetAnswer> do_set(const store::SetRequest& request) override;
  Result<std::optional<std::int64_t>> do_take_out(std::string_view key) override;
  Result<std::int64_t> do_add(std::string_view key, std::int64_t by) override;
  Result<store::BoundedSum> do_add_bounded(const store::BoundedAdd& request) override;
  Result<void> do_quota_set(std::string_view key, const store::QuotaRule& rule) override;
  Result<std::optional<store::QuotaStanding>> do_quota_get(std::string_view key) override;
  Result<bool> do_quota_remove(std::string_view key) override;
  Result<Amount> do_quota_take(std::string_view key, const store::QuotaRule& rule, Amount units) override;
  Result<core::Verdict> do_throttle(std::string_view key, const store::ThrottleRequest& request) override;
  Result<store::KeyType> do_type(std::string_view key) override;
  Result<bool> do_remove(std::string_view key, store::KeyReach reach) override;
  Result<std::optional<Instant>> do_expires_at(std::string_view key) override;
  Result<bool> do_expire(std::string_view key, const store::Expiry& expiry, store::ExpiryCondition condition) override;
  Result<bool> do_persist(std::string_view key) override;
  Result<store::KeyPage> do_scan(std::uint64_t cursor, std::size_t count) override;
  Result<std::size_t> do_size() override;

  // Lets time pass: what has expired or is full again is gone. Then looks the key up.
  Place find(std::string_view key);
  [[nodiscard]] bool is_of(Place place, store::KeyType type) const;
  // Neither absent nor of this type.
  [[nodiscard]] bool is_other(Place place, store::KeyType type) const;
  void set_expiry(Key& key, const store::Expiry& expiry) const;
  Result<Amount> consume(Key& key, Amount units);

  const Clock& clock_;
  Wide now_ = 0;
  std::map<std::string, Key, std::less<>> keys_;
};

}  // namespace mete::model
