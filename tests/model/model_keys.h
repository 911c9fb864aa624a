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

class ModelKeys final : public store::StoreOf<ModelKeys> {
 public:
  explicit ModelKeys(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] Instant now() const override { return clock_.now(); }

 private:
  friend class store::StoreOf<ModelKeys>;

  struct Key {
    store::KeyType type = store::KeyType::kCounter;
    std::int64_t value = 0;
    std::optional<Wide> expires_at;
    std::optional<ModelMeter> meter;  // of a quota or throttle
    store::QuotaRule quota;
  };
  using Place = std::map<std::string, Key, std::less<>>::iterator;

  Result<std::optional<std::int64_t>> perform(const core::GetKey& get);
  Result<store::SetAnswer> perform(const core::SetCounter& set);
  Result<std::optional<std::int64_t>> perform(const core::TakeOut& take);
  Result<std::int64_t> perform(const core::AddToCounter& add);
  Result<store::BoundedSum> perform(const core::AddBounded& add);
  Result<void> perform(const core::SetQuota& set);
  Result<std::optional<store::QuotaStanding>> perform(const core::GetQuota& get);
  Result<bool> perform(const core::RemoveQuota& remove);
  Result<Amount> perform(const core::TakeQuota& take);
  Result<core::Verdict> perform(const core::Throttle& throttle);
  Result<store::KeyType> perform(const core::TypeOfKey& type);
  Result<bool> perform(const core::RemoveKey& remove);
  Result<std::optional<Instant>> perform(const core::FindExpiry& expiry);
  Result<bool> perform(const core::ExpireKey& expire);
  Result<bool> perform(const core::PersistKey& persist);
  Result<store::KeyPage> perform(const core::ScanKeys& scan);
  Result<std::size_t> perform(const core::CountKeys& count);

  // There are no limits here.
  template <class What>
  requires(!core::kIsOnKeys<What>) static Result<typename What::Answer> perform(const What& /*operation*/) {
    return Error{ErrorCode::kUnavailable, "there are keys alone"};
  }

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
