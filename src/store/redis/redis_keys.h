// RedisKeys: counters, quotas and throttles in Redis. Each is a string of its own (names.h), and each operation one
// call of the script lua/keys.lua, which decides and writes in one atomic step. What it tells of the key, before and
// after, becomes the answer here, by the same functions as in every store.
//
// Two things are as Redis has them: a listing may have a key twice if Redis resizes its table meanwhile, and the number
// of keys is that of all that Redis holds in this database, since to count these alone would be to walk over all.
//
// Ownership: borrows link and session. Thread safety: as Keys.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "store/keys.h"
#include "store/redis/client/link.h"
#include "store/redis/key_record.h"
#include "store/redis/names.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

// What everything that uses one Redis through one store knows in common.
//
// Thread safety: any thread, at any time.
struct Session {
  RemoteClock clock;
  // How often everything was cleared. What was written under another epoch is as gone.
  std::atomic<std::uint64_t> epoch{0};
};

class RedisKeys final : public Keys {
 public:
  RedisKeys(Link& link, Session& session) : link_(link), session_(session) {}

  // Removes what was written in earlier epochs, which nobody finds any more: for after a clear, in the background. It
  // walks over all that Redis has, page by page, and tells how many it removed.
  Result<std::size_t> sweep();

 private:
  // What the script tells.
  struct Told {
    Instant now;
    KeyRecord before;                 // kNone if there was no such key
    std::optional<KeyRecord> wanted;  // the key as the operation wants it; none if that cannot be
    bool fits = false;                // of a throttle: it is charged
  };

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

  void add_call(Batch& batch, std::string_view key, std::string_view operation,
                std::initializer_list<std::string_view> arguments) const;
  Result<Told> told_by(Result<wire::RespValue> reply);
  // Calls the script.
  Result<Told> call(std::string_view key, std::string_view operation,
                    std::initializer_list<std::string_view> arguments = {});
  // A page of a listing, in all epochs, whether or not they have gone.
  struct NamePage {
    std::uint64_t cursor = 0;
    std::vector<KeyName> names;
  };
  Result<NamePage> scan_names(std::uint64_t cursor, std::size_t count);
  Result<std::size_t> unlink(const std::vector<KeyName>& names);

  Link& link_;
  Session& session_;
};

}  // namespace mete::store::redis
