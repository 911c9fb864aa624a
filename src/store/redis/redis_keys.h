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
#include <string>
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
  // `step_max`: as RemoteClock has it.
  explicit Session(Duration step_max = {}) : clock(step_max) {}

  // What time it can be, as lua/clock.lua takes it.
  [[nodiscard]] std::string bounds_text() const {
    const TimeBounds bounds = clock.bounds();
    return std::to_string(bounds.earliest_us) + " " + std::to_string(bounds.latest_us);
  }

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
  Result<std::int64_t> perform(const core::AddToCounter& add) { return ask(add); }
  Result<BoundedSum> perform(const core::AddBounded& add) { return ask(add); }
  Result<void> perform(const core::SetQuota& set);
  Result<std::optional<QuotaStanding>> perform(const core::GetQuota& get);
  Result<bool> perform(const core::RemoveQuota& remove);
  Result<Amount> perform(const core::TakeQuota& take) { return ask(take); }
  Result<core::Verdict> perform(const core::Throttle& throttle) { return ask(throttle); }
  // On one way there and back.
  Result<void> perform(const core::KeysEach& keys);
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
  Result<Told> told_by(const Batch& batch, std::size_t index, Result<wire::RespValue> reply);
  // Calls the script.
  Result<Told> call(std::string_view key, std::string_view operation,
                    std::initializer_list<std::string_view> arguments = {});
  // The call of a step, and its answer by what that told.
  Result<void> add_step(Batch& batch, const core::AddToCounter& add) const;
  Result<void> add_step(Batch& batch, const core::AddBounded& add) const;
  Result<void> add_step(Batch& batch, const core::TakeQuota& take) const;
  Result<void> add_step(Batch& batch, const core::Throttle& throttle) const;
  static Result<std::int64_t> answer_of(const core::AddToCounter& add, Told told);
  static Result<BoundedSum> answer_of(const core::AddBounded& add, const Told& told);
  static Result<Amount> answer_of(const core::TakeQuota& take, Told told);
  static Result<core::Verdict> answer_of(const core::Throttle& throttle, Told told);
  template <class Step>
  Result<typename Step::Answer> ask(const Step& step);

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
