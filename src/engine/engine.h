// Engine: limits, meters, holds and operation ids in memory. Every operation is atomic over all that it touches.
//
// The engine has no clock: callers pass the time, which should not run backwards. Where it does by a little (threads
// overtake each other), every meter stands still; it never admits more for it. Arguments are valid (core/validate.h).
//
// Ownership: owns everything it keeps; views in arguments are copied where they must last.
// Thread safety: every call from any thread. An operation locks the buckets of its meters, its id and its tag, and
// nothing else; definitions lock each other out and visit every bucket once. See ARCHITECTURE.md for the lock order.
#pragma once

#include <mete/decision.h>
#include <mete/limit.h>
#include <mete/result.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/operations.h"
#include "core/statistics.h"
#include "core/verdict.h"
#include "engine/audit.h"
#include "engine/hold_tags.h"
#include "engine/keys.h"
#include "engine/meters.h"
#include "engine/occasion.h"
#include "engine/operation_ids.h"
#include "engine/records/recorder.h"
#include "engine/table/keyspace.h"
#include "engine/table/limit_table.h"
#include "engine/table/rule_table.h"
#include "engine/time_floor.h"

namespace mete::engine {

struct Config {
  std::uint64_t seed = 0;      // of the hashes: random, so that nobody can choose keys that collide
  std::size_t max_memory = 0;  // bytes; 0: no ceiling
  Duration id_retention = std::chrono::hours(24);
  std::size_t ids_max = 10'000'000;
};

using core::Commit;
using core::Hold;
using core::Statistics;
using core::Take;

class Engine {
 public:
  explicit Engine(const Config& config);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  Result<void> define(const Limit& limit, Instant now);
  bool drop(std::string_view name);
  [[nodiscard]] std::optional<Limit> limit(std::string_view name);
  [[nodiscard]] std::vector<std::string> limits() const;
  // No amount: the limit's own again.
  Result<void> set_override(const Charge& charge, std::optional<Amount> amount, Instant now);
  [[nodiscard]] Result<std::optional<Amount>> override_of(const Charge& charge, Instant now);

  // Tickets are told of takes. What else must be on disk waits for the last that had to, anyway (core::Effect).
  Result<core::Verdict> take(const Take& request, Occasion at);
  // The same of one charge, for those who ask often and keep the hashes of its names.
  [[nodiscard]] std::uint64_t hash_of_name(std::string_view limit) const { return meters_.hash_of_name(limit); }
  [[nodiscard]] MeterHash hash_of(std::uint64_t name_hash, std::string_view key) const {
    return {name_hash, meters_.hash_of(name_hash, key)};
  }
  [[nodiscard]] MeterHash hash_of(const Charge& charge) const { return meters_.hash_of(charge); }
  Result<core::Verdict> take(const Charge& charge, const MeterHash& hash, Occasion at);
  // Whether that is allowed, and nothing else of the answer. None, and nothing has happened: the meter is not in use
  // yet, or it is not a plain one, and take() has to be asked.
  [[nodiscard]] std::optional<bool> allow(const Charge& charge, const MeterHash& hash, Occasion at);
  // As many as the processor fetches at a time, about.
  static constexpr std::size_t kTogetherMax = 32;
  using MeterHashes = std::array<MeterHash, kTogetherMax>;
  // Asks for the cache lines of meters that are used next, and tells their hashes; of kTogetherMax at most. One after
  // the other, each use would wait for its own.
  MeterHashes prefetch(std::span<const Charge> charges) const;  // NOLINT(modernize-use-nodiscard): it may be a hint
  // Takes each charge for itself, in order: answers[i] is what take() would answer to charges[i] alone. Their meters
  // are fetched from memory together.
  void take_each(std::span<const Charge> charges, Occasion at, std::span<Result<core::Verdict>> answers);
  // The answer that this take got before, by its id; none if the id is new. Nothing changes.
  [[nodiscard]] Result<std::optional<core::Verdict>> recall(const Take& request, Occasion at);
  Result<Settlement> give(std::span<const Charge> charges, std::string_view id, Instant now);
  [[nodiscard]] Result<Usage> usage(const Charge& charge, Instant now);
  Result<Reconciliation> reconcile(const Charge& charge, Amount used, Instant now);
  // Adds the charge's cost, which may be negative here; see core/operations.h.
  Result<core::Shifted> shift(const Charge& charge, Instant since, Instant now);

  Result<core::Verdict> hold(const Hold& request, Instant now);
  Result<Settlement> commit(const Commit& request, Instant now);
  Result<Settlement> cancel(std::string_view id, Instant now);
  Result<Duration> extend(std::string_view id, Duration ttl, Instant now);
  [[nodiscard]] std::optional<HoldInfo> find_hold(std::string_view id, Instant now);
  [[nodiscard]] Result<std::vector<std::string>> holds(const Charge& charge, std::size_t count_max, Instant now);
  [[nodiscard]] std::vector<std::string> holds_tagged(std::string_view tag, Instant now);

  // The open holds that were made first, in that order; looks through the whole table.
  [[nodiscard]] std::vector<HoldInfo> oldest_holds(std::size_t count_max, Instant now);

  // What is kept beside the meters of limits: every operation on them is a call of its own.
  [[nodiscard]] Keys& keys() { return keys_; }

  [[nodiscard]] Result<UsagePage> scan(std::string_view limit, std::uint64_t cursor, std::size_t count, Instant now);

  // Forgets all but limits and overrides, in one step, for which everything else waits: some nanoseconds for each
  // bucket. What is forgotten is then freed a bucket at a time, until clear() returns.
  void clear();

  // Lets holds expire, and forgets fresh meters and old ids, in the next `buckets` buckets; each is locked for itself,
  // for a microsecond or so. One with many expired holds is locked again and again, and counts as several. Called again
  // and again, it goes round and round.
  void sweep(std::size_t buckets, Instant now);
  [[nodiscard]] std::size_t buckets() const { return keyspace_.bucket_count(); }

  [[nodiscard]] Statistics statistics() const;

  // Makes the changes of a record, without telling them to anybody: before record_to(), and from one thread alone. An
  // error: the record cannot be read. finish_restoring() comes after the last one; nothing happens before `latest`.
  [[nodiscard]] Result<void> restore(std::string_view record);
  void finish_restoring(Instant latest);
  // Tells every change to the sink from now on. Before the first operation; the sink must outlive the engine.
  void record_to(ChangeSink& sink) { recorder_.start(sink); }
  // Tells of all that could wait until now. From one thread at a time, twice a second.
  void record_rest();
  // Nothing can be recorded any more. From any thread, once.
  void fail_recording(Error why) { recorder_.fail(std::move(why)); }
  void resume_recording() { recorder_.resume(); }

  // Looks whether everything fits together, and counts it; until that is done, everything else waits. See audit.h.
  [[nodiscard]] Audit audit(Instant now);
  // Takes away what a problem of audit() is about, so that the rest can stand alone. Nothing is given back: what was
  // charged stays used. Says what was done. Before record_to().
  std::string mend(const AuditProblem& problem);

  // A walk over everything, as records to restore from; see snapshot_walk.h.
  class SnapshotWalk;

 private:
  struct Operation;
  struct HoldOperation;
  class Restorer;
  class Auditor;

  // What entries own that were cleared: freed when nobody waits for it any more. Thread safety: every call from any
  // thread.
  class Remains {
   public:
    explicit Remains(MemoryGauge& memory) : memory_(memory) {}
    Remains(const Remains&) = delete;
    Remains& operator=(const Remains&) = delete;
    ~Remains() { free(); }

    void take_from(Entry& entry);
    void free();

   private:
    struct Owned {
      std::vector<std::unique_ptr<HoldRecord>> holds;
      std::vector<std::unique_ptr<HeldParts>> parts;
      std::vector<std::unique_ptr<TaggedHolds>> tagged;
    };

    MemoryGauge& memory_;
    base::Lock lock_;  // a leaf: under the locks of buckets
    Owned owned_;
  };

  [[nodiscard]] Operation prepare(std::span<const Charge> charges) const;
  Result<void> open_all(Operation& operation, Instant now);
  [[nodiscard]] Result<void> write_all(Operation& operation);
  [[nodiscard]] bool is_recorded(const Operation& operation) const;
  // Notes what a meter became; tell() then passes on all that was noted.
  void note(Operation& operation, const MeterAccess& meter) const;
  void note_operation(Operation& operation, std::string_view id, const OperationRecord& record) const;
  static void note_new_parts(Operation& operation, const MeterAccess& meter, std::span<const OpenPart* const> parts);
  void note_hold(HoldOperation& operation, std::span<const OpenPart> parts_before);
  core::Ticket tell(const Operation& operation) const;
  void tell(const LimitRecord& record) const;
  [[nodiscard]] static Durable durability_of(const Operation& operation);
  [[nodiscard]] Result<void> check_recording(Operation& operation) const;
  template <class Use>
  auto with_meter(const Charge& charge, Instant now, Use use) -> decltype(use(std::declval<MeterAccess&>()));
  template <class Attempt>
  auto with_eviction(Instant now, Attempt attempt);

  Result<core::Verdict> try_take(const Take& request, Occasion at);
  enum class Told : bool { kAll, kWhetherAllowed };
  template <Told told>
  static bool judge(const core::Rule& rule, core::State& state, const core::Moment& moment, Amount cost,
                    core::Verdict& verdict);
  template <Told told>
  bool take_in_use_telling(const Charge& charge, const MeterHash& hash, Occasion at, core::Verdict& verdict);
  bool take_in_use(const Charge& charge, const MeterHash& hash, Occasion at, core::Verdict& verdict);
  Result<core::Verdict> admit_and_write(Operation& operation, Mode mode);
  template <class Do>
  Result<core::Verdict> once(Operation& operation, const OperationId& id, const OperationIds::Parameters& parameters,
                             Occasion at, Do act, bool remembers_denial = true);
  Result<void> set_used(MeterAccess& meter, Amount used, Amount held);
  Result<Settlement> try_give(std::span<const Charge> charges, std::string_view id, Instant now);

  Result<core::Verdict> try_hold(const Hold& request, Instant now);
  Result<void> keep_hold(Operation& operation, const OperationId& id, const Hold& request, OperationRecord record);
  std::unique_ptr<HoldRecord> open_hold(Operation& operation, const Hold& request, Instant now);
  void open_charges(HoldOperation& operation);
  Result<Settlement> settle_commit(HoldOperation& operation, const Commit& request);
  template <class Use, class Ended>
  auto with_open_hold(std::string_view id, Instant now, Use use, Ended ended)
      -> decltype(use(std::declval<HoldOperation&>()));
  [[nodiscard]] bool address_hold(const OperationId& id, const HoldRecord* hold, HoldOperation& operation) const;
  void finish(HoldOperation& operation, HoldState state, const HoldEnd& end);

  void bring_all_up_to_date();
  void restore_tags();
  std::string drop_hold(std::string_view id);
  [[nodiscard]] HeldParts* parts_of(const HoldCharge& charge) const;

  bool try_define(const Limit& limit, const RuleRecord* rule, bool may_change_rule, Instant now);
  void visit_all(const LimitRecord* redefined);
  void forget_all(std::uint32_t limit);
  void forget(Entry& entry);
  void clear_entry(Entry& entry);

  bool evict(Instant now);
  // False if there is more to do in it.
  bool sweep_entry(Entry& entry, Instant now);
  void sweep_meter(Entry& entry, Instant now);
  bool sweep_operation(Entry& entry, Instant now);
  // Null if it is not remembered (any more).
  [[nodiscard]] Entry* find_id(const OperationId& id, Instant now);
  [[nodiscard]] std::optional<std::uint64_t> generation_of(std::string_view limit);

  const Config config_;
  MemoryGauge memory_;
  Remains remains_;
  std::mutex clear_mutex_;  // taken before any bucket's lock
  Keyspace keyspace_;
  RuleTable rules_;
  LimitTable limits_;
  TimeFloor floor_;
  Recorder recorder_;
  Meters meters_;
  OperationIds ids_;
  HoldTags tags_;
  Keys keys_;
  std::atomic<std::uint64_t> next_serial_{1};
  std::atomic<std::size_t> open_holds_{0};
  std::atomic<std::size_t> expired_holds_{0};
  std::atomic<std::size_t> unrecorded_admissions_{0};
  std::atomic<std::uint64_t> sweep_position_{0};
  // After a search for room that was in vain: when it may be tried again, and how long the pause is.
  std::atomic<std::uint64_t> evict_again_at_ns_{0};
  std::atomic<std::uint64_t> evict_pause_ns_{0};

  // Whoever changes a limit's rule, and whoever walks over everything for a snapshot, which must meet all meters of a
  // limit under one rule. Taken before any other lock.
  std::mutex revisions_mutex_;
  std::atomic<int> redefiners_waiting_{0};
  mutable std::mutex definitions_mutex_;  // definers exclude each other; taken before any bucket's lock
  std::uint64_t next_generation_ = 1;
  // While restoring: the numbers of limits by their generation, and rules that records may still be under.
  std::unordered_map<std::uint64_t, std::uint32_t> restored_limits_;
  std::vector<const RuleRecord*> outdated_rules_;
  std::unordered_set<std::uint32_t> outdated_limits_;  // some of their meters are of the revision before
  std::vector<std::uint32_t> dropped_numbers_;         // some of their meters are still there
};

}  // namespace mete::engine
