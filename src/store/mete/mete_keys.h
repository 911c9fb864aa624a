// MeteKeys: the keys that other Mete servers keep, each at the server that Rendezvous gives it.
#pragma once

#include "store/keys.h"
#include "store/mete/key_messages.h"
#include "store/mete/server_group.h"

namespace mete::store::servers {

class MeteKeys final : public Keys {
 public:
  explicit MeteKeys(ServerGroup& group) : group_(group) {}

 private:
  Result<std::optional<std::int64_t>> do_get(std::string_view key) override;
  Result<SetAnswer> do_set(const SetRequest& request) override;
  Result<std::optional<std::int64_t>> do_take_out(std::string_view key) override;
  Result<std::int64_t> do_add(std::string_view key, std::int64_t by) override;
  Result<BoundedSum> do_add_bounded(const BoundedAdd& request) override;
  Result<void> do_quota_set(std::string_view key, const QuotaRule& rule) override;
  Result<std::optional<QuotaStanding>> do_quota_get(std::string_view key) override;
  Result<bool> do_quota_remove(std::string_view key) override;
  Result<Amount> do_quota_take(std::string_view key, const QuotaRule& rule, Amount units) override;
  Result<core::Verdict> do_throttle(std::string_view key, const ThrottleRequest& request) override;
  Result<KeyType> do_type(std::string_view key) override;
  Result<bool> do_remove(std::string_view key, KeyReach reach) override;
  Result<std::optional<Instant>> do_expires_at(std::string_view key) override;
  Result<bool> do_expire(std::string_view key, const Expiry& expiry, ExpiryCondition condition) override;
  Result<bool> do_persist(std::string_view key) override;
  Result<KeyPage> do_scan(std::uint64_t cursor, std::size_t count) override;
  Result<std::size_t> do_size() override;

  // The reply to a command of every client is an integer, or text that is one, or null.
  static Result<std::int64_t> ask_integer(Server& server, Call::Repeat repeat,
                                          std::initializer_list<std::string_view> words);
  static Result<std::optional<std::int64_t>> ask_value(Server& server, Call::Repeat repeat,
                                                       std::initializer_list<std::string_view> words);

  ServerGroup& group_;
};

}  // namespace mete::store::servers
