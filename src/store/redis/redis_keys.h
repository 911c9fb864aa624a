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

class RedisKeys {
 public:
  RedisKeys(Link& link, Session& session) : link_(link), session_(session) {}

  Result<std::optional<std::int64_t>> perform(const core::GetKey& get);
  Result<SetAnswer> perform(const core::SetCounter& set);
  Result<std::optional<std::int64_t>> perform(const core::TakeOut& take);
  Result<std::int64_t> perform(const core::AddToCounter& add);
  Result<BoundedSum> perform(const core::AddBounded& add);
  Result<void> perform(const core::SetQuota& set);
  Result<std::optional<QuotaStanding>> perform(const core::GetQuota& get);
  Result<bool> perform(const core::RemoveQuota& remove);
  Result<Amount> perform(const core::TakeQuota& take);
  Result<core::Verdict> perform(const core::Throttle& throttle);
  Result<KeyType> perform(const core::TypeOfKey& find);
  Result<bool> perform(const core::RemoveKey& remove);
  Result<std::optional<Instant>> perform(const core::FindExpiry& find);
  Result<bool> perform(const core::ExpireKey& expire);
  Result<bool> perform(const core::PersistKey& persist);
  Result<KeyPage> perform(const core::ScanKeys& scan);
  Result<std::size_t> perform(const core::CountKeys& count);

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
