// RedisStore: limits whose state is in Redis or Valkey, shared by all who use it. Every operation is one call of a Lua
// script (lua/), and Redis's clock decides. What an answer says beyond what was charged (waits, what remains) is worked
// out here, from the state that the script tells, by the same code as in the embedded store.
//
//     take ──▶ meters of the charges, with their terms ──▶ script ──▶ state ──▶ Verdict
//                     ▲                                      │
//                     └── LimitBook: a copy of mete.limits   └─ "of an earlier revision": catch_up(), and again
//
// Thread safety: every call from any thread. One thread of its own keeps the book up to date.
#pragma once

#include <mete/limiter.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/fiber_mutex.h"
#include "store/network/lone_takes.h"
#include "store/redis/census/census.h"
#include "store/redis/client/link.h"
#include "store/redis/limit_book.h"
#include "store/redis/meter_image.h"
#include "store/redis/plain_take.h"
#include "store/redis/redis_keys.h"
#include "store/store.h"

namespace mete::store::redis {

class RedisStore final : public StoreOf<RedisStore> {
 public:
  static Result<std::unique_ptr<Store>> open(std::string_view url, const Options& options);
  ~RedisStore() override;

  [[nodiscard]] Instant now() const override;
  [[nodiscard]] ClockStatus clock_status() const override { return session_.clock.status(); }
  [[nodiscard]] std::optional<RemoteStatus> remote() const override { return link_->status(); }
  [[nodiscard]] std::optional<Limit> known_limit(std::string_view name) const override;

 private:
  friend class StoreOf<RedisStore>;

  using Book = std::shared_ptr<const LimitBook>;

  // A meter of an operation: charges on the same one are added up.
  struct Charged {
    const KnownLimit* limit = nullptr;  // null where an answer is recalled whose limit is gone
    std::string_view limit_name;
    std::string_view key;
    Amount cost = 0;
    std::uint16_t charges = 0;  // bit i: the operation's charge i is one of them
    std::string name;           // in Redis

    [[nodiscard]] std::string terms(std::uint64_t window_us) const {
      return limit->terms(window_us) + " " + std::to_string(cost);
    }
  };
  struct Meters {
    Book book;  // what the limits are of
    std::vector<Charged> list;
  };
  // Of a hold, or of the part of one on several nodes that is here.
  enum class Extent : std::uint8_t { kWhole, kPart };
  struct FoundHold;
  class RecentHolds;
  using Images = std::vector<std::unique_ptr<MeterImage>>;

  RedisStore(std::unique_ptr<Link> link, const Options& options);

  Result<void> perform(const core::Define& define);
  Result<bool> perform(const core::Drop& drop);
  Result<std::optional<Limit>> perform(const core::FindLimit& find);
  Result<std::vector<std::string>> perform(const core::ListLimits& list);
  Result<void> perform(const core::Override& change);
  Result<std::optional<Amount>> perform(const core::FindOverride& find);
  Result<core::Verdict> perform(const core::Take& take);
  Result<void> perform(const core::TakeEach& takes) {
    take_each(takes);
    return {};
  }
  Result<std::optional<core::Verdict>> perform(const core::Recall& recall);
  Result<Settlement> perform(const core::Give& give);
  Result<core::Verdict> perform(const core::Hold& hold);
  Result<Settlement> perform(const core::Commit& commit);
  Result<Settlement> perform(const core::Cancel& cancel);
  Result<Duration> perform(const core::Extend& extend);
  Result<std::optional<HoldInfo>> perform(const core::FindHold& find);
  Result<std::vector<std::string>> perform(const core::ListHolds& list);
  Result<std::vector<std::string>> perform(const core::ListTagged& list);
  Result<Usage> perform(const core::ReadUsage& read);
  Result<Reconciliation> perform(const core::Reconcile& reconcile);
  Result<void> perform(const core::ShiftUsage& shifts);
  Result<UsagePage> perform(const core::ScanUsage& scan);
  Result<std::vector<HoldInfo>> perform(const core::OldestHolds& oldest);
  Result<void> perform(const core::Clear& clear);
  Result<StoreStatistics> perform(const core::ReadStatistics& read);

  template <class What>
  requires core::kIsOnKeys<What> Result<typename What::Answer> perform(const What& operation) {
    return keys_.perform(operation);
  }

  // The definitions (redis_definitions.cc).
  [[nodiscard]] Book book() const { return std::atomic_load(&book_); }
  Result<void> refresh_book();
  Result<void> refresh_book_if_changed();
  void keep_book_fresh();
  using Change = std::function<Result<std::vector<std::string>>(const LimitBook&, std::uint64_t now_us)>;
  Result<void> change_definitions(const Change& change);
  // Null: the book is replaced by a newer one, and what was found in it before must be looked for again.
  Result<const KnownLimit*> find_limit(Book& known, std::string_view name);

  // Calls (redis_calls.cc).
  Result<wire::RespValue> run_command(std::string_view routing_key, std::initializer_list<std::string_view> words);
  Result<wire::RespValue> run_script(StoreScript which, std::span<const std::string> keys,
                                     std::span<const std::string> arguments);
  // The reply to the only command of a batch.
  Result<wire::RespValue> run(Batch& batch);
  Result<Meters> merge(std::span<const Charge> charges);
  Result<Meters> list_each(std::span<const Charge> charges);
  static Charged& add_charge(std::vector<Charged>& meters, const Charge& charge, std::size_t index);
  static Meters merge_names(std::span<const Charge> charges);
  // What stands in the way of an operation is put out of it; an error if that cannot be. `window_us`: the time that
  // calendars must be told for.
  Result<void> mend(const wire::RespValue& problem, const Meters& meters, std::uint64_t& window_us);
  Result<void> catch_up(const KnownLimit& limit, std::string_view key);
  // Meters as they were found, brought to the present time.
  struct Looked {
    Meters meters;
    std::uint64_t now_us = 0;
    std::vector<std::string> values;
    Images images;
  };
  Result<Looked> look(std::span<const Charge> charges);
  Result<Looked> look_by(const std::function<Result<Meters>()>& find);
  Result<Looked> look_at(const MeterName& meter);
  Result<Looked> look_once(Meters meters);
  // Puts the first meter, as its image is now, in the place of what was found; false if somebody was there.
  Result<bool> replace(const Looked& looked);
  // The time that a reply tells, or a later one that was seen before.
  Result<std::uint64_t> saw(const wire::RespValue& now_us);
  static Error too_busy();
  // How often an operation is tried again because something was put out of its way.
  static constexpr int kAttemptsMax = 32;

  [[nodiscard]] std::string retention_text() const;

  // Takes (redis_takes.cc).
  void add_take(const Take& request, const Meters& meters, std::uint64_t window_us, Batch& batch) const;
  std::optional<Result<core::Verdict>> read_take(const Take& request, const Meters& meters,
                                                 const wire::RespValue& reply);
  static Result<core::Verdict> read_decision(const wire::RespValue& reply, const Meters& meters, Mode mode,
                                             std::span<Usage> usages);
  static engine::MeterAccesses accesses_of(const Images& images);
  static Result<Images> read_meters(const wire::RespValue& reply, const Meters& meters, bool is_reduced);
  Result<core::Verdict> peek(const Take& request);
  // What an operation was answered before, by its id; none if it is a new one.
  struct Identity {
    std::string_view id;
    const std::string& fingerprint;
    std::string_view home;  // the key that the record lies with, in a Cluster
  };
  Result<std::optional<wire::RespValue>> recall_answer(const Identity& identity);

  // Takes by the short scripts, and takes that have arrived together (redis_plain_takes.cc).
  // None if it is no such take, or the meters are not in that form.
  std::optional<Result<core::Verdict>> take_plainly(const Take& request, const Meters& meters);
  Result<core::Verdict> read_plain_take(const Meters& meters, std::string_view text, const TimeBounds& bounds);
  // The same for one charge of several that have arrived together.
  static Result<core::Verdict> read_plain_charge(const KnownLimit& limit, const Charge& charge,
                                                 const PlainAnswer::Value& value, std::uint64_t now_us);
  static Result<core::Verdict> read_sliding_charge(const KnownLimit& limit, const Charge& charge,
                                                   const PlainAnswer::Value& value, const core::Moment& moment);
  // Never waits for other callers, as those may wait for this one.
  Result<core::Verdict> take_alone(const Take& request) {
    return is_cluster_ ? take_in_cluster(request) : take_at_home(request);
  }
  void take_each(const core::TakeEach& takes);
  struct Together;
  struct EachContext {
    const Book& book;
    std::span<const Charge> charges;
    TimeBounds bounds;
  };
  void write_each(Together& together, const EachContext& context) const;
  void read_each(Together& together, const EachContext& context, std::span<Result<core::Verdict>> answers);
  Result<core::Verdict> read_other(const Take& request, const Meters& meters, const Result<wire::RespValue>& reply);
  static Meters meters_of(const Book& book, const KnownLimit& limit, const Charge& charge);

  // What is not a take: a call of settle.lua, and its answer with the meters that it was for.
  struct Call {
    std::vector<std::string> keys;       // behind the meters
    std::vector<std::string> arguments;  // the operation and its options; then those behind the meters
  };
  struct Answer {
    Meters meters;
    wire::RespValue reply;
  };
  using WriteCall = std::function<void(const Meters&, Call&)>;
  Result<Answer> settle(std::span<const Charge> charges, const WriteCall& write);
  void add_settle(const Meters& meters, const WriteCall& write, std::uint64_t window_us, Batch& batch) const;
  Result<Answer> settle_once(std::span<const Charge> charges, const Identity& identity, const WriteCall& write);
  static Result<Settlement> read_settlement(const Answer& answer);

  // Shifts (redis_shifts.cc).
  Result<Meters> shifted_meters(const ShiftUsage& shifts);
  Result<void> shift_together(const ShiftUsage& shifts);
  void read_shifts(const ShiftUsage& shifts, const Result<wire::RespValue>& reply);
  Result<Shifted> shift_alone(const ShiftUsage& shifts);
  static WriteCall write_shifts(Instant since);

  // Holds (redis_holds.cc).
  Result<std::optional<FoundHold>> look_for_hold(std::string_view id, std::string_view home);
  [[nodiscard]] Result<std::optional<FoundHold>> read_hold(const wire::RespValue& record, std::uint64_t now_us) const;
  struct Closing;
  static Amount committed_amount(const FoundHold& hold, const Closing& closing);
  static Result<void> check_amount_count(const FoundHold& hold, const Closing& closing);
  static Result<void> check_amounts(const FoundHold& hold, const Closing& closing);
  static Result<void> check_repeated(std::string_view id, const FoundHold& hold, const Closing& closing);
  [[nodiscard]] Result<Settlement> closed_before(std::string_view id, const FoundHold& hold,
                                                 const Closing& closing) const;
  Result<Answer> send_closing(std::string_view id, const FoundHold& hold, const Closing& closing);
  static Result<Settlement> settlement_of(const FoundHold& hold, const Closing& closing, const Answer& answer);
  // By the short scripts, where they do it; and without a look, of a hold that was made here.
  std::optional<Result<core::Verdict>> hold_shortly(const Hold& request, std::uint64_t ttl_us,
                                                    const std::string& fingerprint, Extent extent);
  void remember_hold(const Hold& request, const Answer& answer, Extent extent);
  [[nodiscard]] ShortHold short_hold(const Book& known, const KnownLimit& limit, std::string_view key,
                                     std::string_view id, std::string_view tag) const;
  std::optional<Result<Settlement>> close_shortly(std::string_view id, const FoundHold& hold, const Closing& closing);
  std::optional<Result<Settlement>> close_recent(std::string_view id, const FoundHold& hold, const Closing& closing);
  Result<Settlement> close_hold(std::string_view id, const Closing& closing);

  // Where all keys of an operation lie on one node (redis_takes.cc, redis_holds.cc): one script.
  Result<core::Verdict> take_at_home(const Take& request);
  Result<std::optional<core::Verdict>> recall_at_home(const Take& request);
  Result<Settlement> give_at_home(std::span<const Charge> charges, std::string_view id);
  Result<core::Verdict> hold_at_home(const Hold& request, Extent extent = Extent::kWhole);
  // `found`: where the caller knows already what an open hold is; it is left as it was seen last.
  Result<Settlement> close_at_home(std::string_view id, const Closing& closing);
  Result<Settlement> close_at_home(std::string_view id, const Closing& closing, std::optional<FoundHold>& found);
  [[nodiscard]] std::string record_key(std::string_view id, std::string_view home) const;

  // Where they may lie apart (redis_cluster.cc).
  struct Locator;
  struct Group;
  static std::vector<Group> group(std::span<const Charge> charges);
  Result<core::Verdict> take_in_cluster(const Take& request);
  template <class Act>
  auto in_parts(std::span<const Charge> charges, Act act);
  template <class What>
  Result<typename What::Answer> run_at_home(const What& operation, std::string_view key);
  Result<core::Verdict> take_across(const Take& request);
  Result<std::optional<core::Verdict>> recall_in_cluster(const Take& request);
  Result<void> check_force(std::span<const Charge> charges);
  Result<Settlement> give_in_cluster(std::span<const Charge> charges, std::string_view id);
  Result<core::Verdict> hold_in_cluster(const Hold& request);
  Result<core::Verdict> hold_apart(const Hold& request);
  Result<bool> hold_across(const Hold& request);
  Result<Settlement> close_in_cluster(std::string_view id, const Closing& closing);
  Result<Settlement> close_at_one_home(std::string_view id, Closing closing, std::optional<FoundHold> found);
  static std::size_t home_of_overage(const FoundHold& hold, const Locator& locator, const Closing& closing);
  Result<Settlement> close_across(std::string_view id, const FoundHold& hold, const Locator& locator,
                                  const Closing& closing);
  Result<std::optional<FoundHold>> find_in_cluster(std::string_view id);
  Result<Locator> claim(std::string_view id, const Locator& wanted, Duration keep);
  void unclaim(std::string_view id, const Locator& locator, const Error& error);
  Result<std::optional<Locator>> locate(std::string_view id);
  Result<void> keep_locator(std::string_view id, Duration keep);
  Result<void> keep_answer(std::string_view id, Locator locator, const core::Verdict& verdict);
  Result<void> keep_ending(std::string_view id, Locator locator, const Settlement& answer,
                           std::span<const Amount> amounts);
  Result<void> keep_locator_text(std::string_view id, const Locator& locator);
  Result<core::Verdict> stand(const Take& request, core::Verdict verdict);
  Result<void> tag_if_open(std::string_view id, const Locator& locator);
  Result<void> tag_hold(std::string_view tag, std::string_view id, std::uint64_t expires_us);

  // Listings (redis_listing.cc).
  Result<void> add_usages(std::string_view limit, std::span<const std::string> names, std::vector<KeyUsage>& keys);
  Result<void> keep_meters(std::string_view limit);
  Result<std::uint64_t> sweep_leftovers(std::uint64_t cursor);
  void settle_meters(const std::vector<std::string>& names);

  std::unique_ptr<Link> link_;
  const bool is_cluster_;
  Session session_;
  RedisKeys keys_{*link_, session_};
  LoneTakes lone_takes_;
  LongMeters long_takes_;
  LongMeters long_holds_;
  Census census_{*link_};
  const Duration id_retention_;
  const std::unique_ptr<RecentHolds> recent_holds_;
  std::shared_ptr<const LimitBook> book_ = std::make_shared<const LimitBook>();
  net::FiberMutex refresh_mutex_;           // held while the limits are read
  std::atomic<bool> has_leftovers_{false};  // meters of earlier revisions, or that nobody can reach any more
  std::atomic<bool> is_stopping_{false};
  std::thread refresher_;  // last: it uses all of the above
};

}  // namespace mete::store::redis
