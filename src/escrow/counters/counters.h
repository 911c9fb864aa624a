// Counters: the table of counters of one node, by key. What each operation does is what store::Keys says of counters;
// the time is an argument, and arguments are valid (core/validate.h). Nothing here waits for another node.
//
// Replication: every change is numbered. Whoever brings the counters to another node keeps a cursor, which says what
// that one has, and asks for what changed since: it gets the counters as they are now, however often they changed.
//
//     Counters::Cursor cursor;                                            what the peer has: nothing
//     auto changes = counters.changes_since(cursor, {peer, now}, 65536);  states to send
//     cursor = changes.cursor;                                            once the peer has acknowledged them
//
// Thread safety: every call from any thread; each operation is atomic.
#pragma once

#include <mete/result.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/key_operations.h"
#include "escrow/counters/shard.h"

namespace mete::escrow {

class Counters {
 public:
  static constexpr std::size_t kShards = 16;  // a power of two
  // So many are made here at most, with those that have gone and are still remembered: about a gigabyte.
  static constexpr std::size_t kCountersMax = 2'000'000;
  // What other nodes bring is taken in until there are so many times as many: each of them stops at kCountersMax, too,
  // but by what it knows. Nodes that were cut off from each other may both be full, and still have room to agree.
  static constexpr std::size_t kMergedFactor = 2;

  // `self`: this node, with an incarnation that it never had before.
  explicit Counters(Writer self, std::size_t counters_max = kCountersMax);

  [[nodiscard]] const Writer& self() const { return self_; }

  [[nodiscard]] std::optional<std::int64_t> get(std::string_view key, Instant now);
  Result<core::SetAnswer> set(const core::SetCounter& request, Instant now);
  std::optional<std::int64_t> take_out(std::string_view key, Instant now);
  Result<std::int64_t> add(std::string_view key, std::int64_t by, Instant now);
  // The same to a counter that is there, and none if there is not: what nearly every addition is to.
  std::optional<Result<std::int64_t>> add_if_live(std::string_view key, std::int64_t by, Instant now);
  Result<core::BoundedSum> add_bounded(const core::AddBounded& request, Instant now);
  [[nodiscard]] core::KeyType type(std::string_view key, Instant now);
  bool remove(std::string_view key, Instant now);
  [[nodiscard]] std::optional<Instant> expires_at(std::string_view key, Instant now);
  bool expire(std::string_view key, const core::Expiry& expiry, core::ExpiryCondition condition, Instant now);
  bool persist(std::string_view key, Instant now);
  [[nodiscard]] core::KeyPage scan(std::uint64_t cursor, std::size_t count, Instant now);
  [[nodiscard]] std::size_t size() const;

  // Operations on these keys follow: has what they read on its way from memory.
  void expect(std::span<const std::string_view> keys);

  // Forgets some of what need not be remembered. To be called now and then: nothing depends on it but memory.
  void sweep(Instant now);

  // What somebody has seen of the changes.
  class Cursor {
   public:
    bool operator==(const Cursor&) const = default;

   private:
    friend class Counters;
    std::array<std::uint64_t, kShards> seen_{};
  };
  struct Changes {
    std::vector<std::string> states;  // pieces, each as decode_states() reads it; none: nothing has changed
    Cursor cursor;                    // what whoever has merged them has seen
  };
  // More than bytes_max by one counter at most. What came from the reader itself is left out.
  [[nodiscard]] Changes changes_since(const Cursor& cursor, const Reader& reader, std::size_t bytes_max);
  // As if somebody had read all changes so far, who knows of them in another way.
  [[nodiscard]] Cursor skip_changes();
  [[nodiscard]] bool has_changes_since(const Cursor& cursor) const;
  // How many counters changes_since() would yield, and perhaps some that it would leave out as forgotten.
  [[nodiscard]] std::size_t count_changes(const Cursor& cursor, Source reader) const;
  // What another node has. False: there is no such counter here, and no room for it.
  bool merge(const CounterState& state, Source source, Instant now);
  // What this node's own file has: also what need not be remembered any more, since an older state of the same counter
  // may have been loaded before, and must not outlive it. sweep() forgets it.
  void load(const CounterState& state);
  // How often merge() had no room.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct alignas(64) Locked {
    mutable std::mutex mutex;
    Shard shard;
    std::uint64_t swept_to = 0;
  };
  class Access;

  // By the upper bits of the hash: the table of a shard goes by the lower ones.
  [[nodiscard]] Locked& shard_of(const CounterKey& key) { return shards_[key.hash >> 32 & (kShards - 1)]; }
  static Result<std::int64_t> add_to(Access& access, std::int64_t by);
  // False: it would be one more than `counters_max`.
  bool take_in(const CounterState& state, Source source, Instant now, std::size_t counters_max);
  // Calls act(access) with the key's counter, under the lock of its shard.
  template <class Act>
  auto with_key(std::string_view key, Instant now, Act act);

  const Writer self_;
  const std::size_t counters_max_;
  std::atomic<std::size_t> remembered_{0};  // entries of all shards
  std::atomic<std::uint64_t> refused_{0};
  std::array<Locked, kShards> shards_;
};

// The source that a node is.
Source source_of(const Writer& writer);

}  // namespace mete::escrow
