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

class EscrowKeys final : public store::Keys {
 public:
  struct Parts {
    store::Store& store;  // decides on quotas, as limits
    Definitions& definitions;
    Counters& counters;
    store::Keys& throttles;
  };
  explicit EscrowKeys(Parts parts) : parts_(parts) {}

  // Forgets every counter, here and, as they hear of it, at the other nodes. Quotas stay.
  void clear();

 private:
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

  [[nodiscard]] Instant now() const { return parts_.store.now(); }
  // Null if the key is no quota, by what is known here.
  [[nodiscard]] std::shared_ptr<const Definition> quota(std::string_view key) const;
  [[nodiscard]] Result<bool> is_throttle(std::string_view key);
  // An error unless the key is a counter, or nothing yet.
  [[nodiscard]] Result<void> check_counter(std::string_view key);
  Result<Amount> consume(std::string_view key, Amount units);
  Result<Amount> remaining(std::string_view key);

  const Parts parts_;
};

}  // namespace mete::escrow
