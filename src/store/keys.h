// Keys: the operations on keys by name. What a store keeps beside the meters of named limits, as users of Redis know
// it: counters, and quotas and throttles that carry their own rule (core/key_operations.h).
//
// Ownership: borrows the store, and the execution that its calls share, if there is one. Thread safety: as the store's.
#pragma once

#include <mete/result.h>

#include <optional>
#include <string_view>

#include "core/key_operations.h"
#include "store/caller.h"
#include "store/store.h"

namespace mete::store {

using core::AddBounded;
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
using core::SetCounter;
using core::ThrottleRequest;

class Keys {
 public:
  explicit Keys(Store& store, core::Execution* execution = nullptr) : store_(store), execution_(execution) {}

  [[nodiscard]] Result<std::optional<std::int64_t>> get(std::string_view key) { return run(core::GetKey{key}); }
  Result<SetAnswer> set(const SetCounter& set) { return run(set); }
  Result<std::optional<std::int64_t>> take_out(std::string_view key) { return run(core::TakeOut{key}); }
  Result<std::int64_t> add(std::string_view key, std::int64_t by) { return run(core::AddToCounter{key, by}); }
  Result<BoundedSum> add_bounded(const AddBounded& add) { return run(add); }

  Result<void> quota_set(std::string_view key, const QuotaRule& rule) { return run(core::SetQuota{key, rule}); }
  [[nodiscard]] Result<std::optional<QuotaStanding>> quota_get(std::string_view key) {
    return run(core::GetQuota{key});
  }
  Result<bool> quota_remove(std::string_view key) { return run(core::RemoveQuota{key}); }
  Result<Amount> quota_take(std::string_view key, const QuotaRule& rule, Amount units) {
    return run(core::TakeQuota{key, rule, units});
  }
  Result<core::Verdict> throttle(std::string_view key, const ThrottleRequest& request) {
    return run(core::Throttle{key, request});
  }

  [[nodiscard]] Result<KeyType> type(std::string_view key) { return run(core::TypeOfKey{key}); }
  Result<bool> remove(std::string_view key, KeyReach reach = KeyReach::kAnyKey) {
    return run(core::RemoveKey{key, reach});
  }
  [[nodiscard]] Result<std::optional<Instant>> expires_at(std::string_view key) { return run(core::FindExpiry{key}); }
  Result<bool> expire(std::string_view key, const Expiry& expiry,
                      ExpiryCondition condition = ExpiryCondition::kAlways) {
    return run(core::ExpireKey{key, expiry, condition});
  }
  Result<bool> persist(std::string_view key) { return run(core::PersistKey{key}); }
  [[nodiscard]] Result<KeyPage> scan(std::uint64_t cursor, std::size_t count) {
    return run(core::ScanKeys{cursor, count});
  }
  [[nodiscard]] Result<std::size_t> size() { return run(core::CountKeys()); }

 private:
  template <class What>
  Result<typename What::Answer> run(const What& operation) {
    return execution_ != nullptr ? store_.run(operation, *execution_) : store_.run(operation);
  }

  Store& store_;
  core::Execution* execution_;
};

inline Keys Store::keys() { return Keys(*this); }
inline Keys Caller::keys() { return Keys(store_, &execution_); }

}  // namespace mete::store
