// Keys: counters, quotas and throttles, each an entry of the keyspace that carries all it needs.
//
//     counter   value, expires_at           goes when its time has come
//     quota     rule, state of a window     stays until it is removed
//     throttle  rule, state of a bucket     goes when the bucket is full: then it is as one that never was
//
// Expiry is judged on access; the sweep takes the rest away. Rules are interned: keys with equal numbers share one.
// Arguments are valid (core/validate.h). What each operation does: docs/semantics.md.
//
// Thread safety: every operation from any thread, under the lock of its key's bucket; sweep() and forget() want it.
#pragma once

#include <mete/result.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "core/key_operations.h"
#include "core/verdict.h"
#include "engine/occasion.h"
#include "engine/records/recorder.h"
#include "engine/table/keyspace.h"
#include "engine/table/rule_table.h"
#include "engine/time_floor.h"

namespace mete::engine {

using core::KeyType;

class Keys {
 public:
  struct Parts {
    MemoryGauge& memory;
    Keyspace& keyspace;
    RuleTable& rules;
    TimeFloor& floor;
    const Recorder& recorder;
    std::function<bool(Instant)> evict;  // makes room where there is none; called with no bucket locked
  };

  Keys(Parts parts, std::uint64_t seed);

  // Asks for the cache lines of keys that are looked up next: as in Engine::take_each.
  void prefetch(std::span<const std::string_view> keys) const;

  [[nodiscard]] Result<std::optional<std::int64_t>> get(std::string_view key, Instant now);
  // Tickets are told of these two, which may undo a quota.
  Result<core::SetAnswer> set(const core::SetCounter& request, Occasion at);
  Result<std::optional<std::int64_t>> take_out(std::string_view key, Instant now);
  Result<std::int64_t> add(std::string_view key, std::int64_t by, Instant now) {
    return perform(core::AddToCounter{key, by}, hash_of(key), now);
  }
  Result<core::BoundedSum> add_bounded(const core::AddBounded& request, Instant now) {
    return perform(request, hash_of(request.key), now);
  }

  Result<void> quota_set(std::string_view key, const core::QuotaRule& rule, Instant now);
  [[nodiscard]] Result<std::optional<core::QuotaStanding>> quota_get(std::string_view key, Instant now);
  Result<bool> quota_remove(std::string_view key, Instant now);
  Result<Amount> quota_take(std::string_view key, const core::QuotaRule& rule, Amount units, Instant now) {
    return perform(core::TakeQuota{key, rule, units}, hash_of(key), now);
  }
  Result<core::Verdict> throttle(std::string_view key, const core::ThrottleRequest& request, Instant now) {
    return perform(core::Throttle{key, request}, hash_of(key), now);
  }
  // Each of those four for itself, in order; what they need of the memory is fetched together.
  void each(const core::KeysEach& keys, Instant now);

  [[nodiscard]] KeyType type(std::string_view key, Instant now);
  bool remove(std::string_view key, core::KeyReach reach, Occasion at);
  [[nodiscard]] std::optional<Instant> expires_at(std::string_view key, Instant now);
  Result<bool> expire(std::string_view key, const core::Expiry& expiry, core::ExpiryCondition condition, Instant now);
  Result<bool> persist(std::string_view key, Instant now);
  [[nodiscard]] core::KeyPage scan(std::uint64_t cursor, std::size_t count, Instant now);
  [[nodiscard]] std::size_t size() const { return keyspace_.entry_count(EntryType::kKey); }
  // How many of them will go by themselves.
  [[nodiscard]] std::size_t expiring() const { return expiring_.load(std::memory_order_relaxed); }

  // Erases the entry of a key that has gone.
  void sweep(Entry& entry, Instant now);
  void forget(Entry& entry);

  // What an entry is. Wants the lock of its bucket.
  [[nodiscard]] static KeyChange change_of(const Entry& entry);
  // Makes a key what the change says.
  void restore(const KeyChange& change);

 private:
  struct Access;

  static constexpr std::size_t kTogetherMax = 32;  // as in Engine

  Result<std::int64_t> perform(const core::AddToCounter& request, std::uint64_t hash, Instant now);
  Result<core::BoundedSum> perform(const core::AddBounded& request, std::uint64_t hash, Instant now);
  Result<Amount> perform(const core::TakeQuota& request, std::uint64_t hash, Instant now);
  Result<core::Verdict> perform(const core::Throttle& throttle, std::uint64_t hash, Instant now);

  [[nodiscard]] std::uint64_t hash_of(std::string_view key) const;
  // `guard` holds the lock of the key's bucket.
  [[nodiscard]] Access find(const Keyspace::Guard& guard, std::uint64_t hash, std::string_view key, Occasion at) const;
  static void load(Access& access, Entry& entry);
  void forget_if_gone(Access& access);
  template <class Use>
  auto with_key(std::string_view key, Occasion at, Use use) {
    return with_key(hash_of(key), key, at, use);
  }
  template <class Use>
  auto with_key(std::uint64_t hash, std::string_view key, Occasion at, Use use);
  template <class Attempt>
  auto with_room(Instant now, Attempt attempt);

  // Makes an entry of this type in place of the one that is there, if any; false if the memory ceiling is reached.
  [[nodiscard]] bool make(Access& access, KeyType type);
  // A quota or throttle that has not been used; told by whoever made it, with what becomes of it next.
  [[nodiscard]] bool make_ruled(Access& access, KeyType type, const core::Rule& rule);
  static void write(const Access& access);
  // Tells what became of the key.
  void tell(const Access& access) const;
  void forget_and_tell(Access& access);
  // Counts the keys that expire. Most operations change nothing about that, and then nothing shared is written.
  void count_expiring(bool before, bool after);
  Result<void> write_counter(Access& access, std::int64_t value, Instant expires_at);
  // As a limit is redefined: the usage stays. False if that is the rule already.
  bool change_rule(Access& access, const core::Rule& rule);
  Result<Amount> consume(Access& access, Amount units);
  Result<core::Verdict> take_throttle(Access& access, const core::ThrottleRequest& request);

  MemoryGauge& memory_;
  Keyspace& keyspace_;
  RuleTable& rules_;
  TimeFloor& floor_;
  const Recorder& recorder_;
  const std::function<bool(Instant)> evict_;
  const std::uint64_t seed_;
  std::atomic<std::size_t> expiring_{0};
};

}  // namespace mete::engine
