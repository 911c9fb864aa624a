// EscrowKeys: keys on a node of a cluster.
//
//     counters    count here, and are merged with those of the other nodes (counters/)
//     quotas      are limits of scope escrow in the shared store, one each, named mete.quota:KEY
//     throttles   are this node's own: each call carries its own rule, so there is nothing to share but the calls
//
// A quota that another node has just defined is noticed within half a second; until then its key is a counter here.
// Thread safety: every call from any thread.
#pragma once

#include "escrow/counters/counters.h"
#include "escrow/definitions.h"
#include "store/keys.h"
#include "store/store.h"

namespace mete::escrow {

class EscrowKeys {
 public:
  struct Parts {
    store::Store& store;  // decides on quotas, as limits
    Definitions& definitions;
    Counters& counters;
    store::Store& throttles;
  };
  explicit EscrowKeys(Parts parts) : parts_(parts) {}

  Result<store::KeyType> perform(const core::TypeOfKey& find, store::Execution& /*execution*/) {
    return type_of(find.key);
  }
  Result<std::optional<std::int64_t>> perform(const core::GetKey& get, store::Execution& execution);
  Result<store::SetAnswer> perform(const core::SetCounter& set, store::Execution& execution);
  Result<std::optional<std::int64_t>> perform(const core::TakeOut& take, store::Execution& execution);
  Result<std::int64_t> perform(const core::AddToCounter& add, store::Execution& execution);
  Result<store::BoundedSum> perform(const core::AddBounded& add, store::Execution& execution);
  Result<void> perform(const core::SetQuota& set, store::Execution& execution);
  Result<std::optional<store::QuotaStanding>> perform(const core::GetQuota& get, store::Execution& execution);
  Result<bool> perform(const core::RemoveQuota& remove, store::Execution& execution);
  Result<Amount> perform(const core::TakeQuota& take, store::Execution& execution);
  Result<core::Verdict> perform(const core::Throttle& throttle, store::Execution& execution);
  Result<void> perform(const core::KeysEach& keys, store::Execution& execution) {
    keys.answer_by([&](const auto& step) { return perform(step, execution); });
    return {};
  }
  Result<bool> perform(const core::RemoveKey& remove, store::Execution& execution);
  Result<std::optional<Instant>> perform(const core::FindExpiry& find, store::Execution& execution);
  Result<bool> perform(const core::ExpireKey& expire, store::Execution& execution);
  Result<bool> perform(const core::PersistKey& persist, store::Execution& execution);
  Result<store::KeyPage> perform(const core::ScanKeys& scan, store::Execution& execution);
  Result<std::size_t> perform(const core::CountKeys& count, store::Execution& execution);

  // Forgets every counter, here and, as they hear of it, at the other nodes. Quotas stay.
  void clear();

 private:
  [[nodiscard]] Instant now() const { return parts_.store.now(); }
  // Null if the key is no quota, by what is known here.
  [[nodiscard]] std::shared_ptr<const Definition> quota(std::string_view key) const;
  [[nodiscard]] Result<bool> is_throttle(std::string_view key);
  // An error unless the key is a counter, or nothing yet.
  [[nodiscard]] Result<void> check_counter(std::string_view key);
  [[nodiscard]] Result<store::KeyType> type_of(std::string_view key);
  Result<Amount> consume(std::string_view key, Amount units, store::Execution& execution);
  Result<Amount> remaining(std::string_view key);

  const Parts parts_;
};

}  // namespace mete::escrow
