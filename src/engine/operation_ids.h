// OperationIds: operations with an id, remembered so that the same operation again gets the same answer.
//
// There are ids_max of them. When few are left, no limit has more than half of these: whoever spends those of one limit
// leaves some to the others. An operation on several limits counts for the first of them.
//
// Thread safety: every call but hash_of() wants the lock of the id's bucket.
#pragma once

#include <mete/result.h>

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string_view>

#include "engine/hold_record.h"
#include "engine/table/keyspace.h"
#include "engine/table/limit_table.h"

namespace mete::engine {

enum class OperationKind : std::uint8_t { kTake, kGive, kHold };

// An id with its hash, which is worked out once for an operation.
struct OperationId {
  std::string_view text;
  std::uint64_t hash = 0;
};

class OperationIds {
 public:
  OperationIds(MemoryGauge& memory, Keyspace& keyspace, std::uint64_t seed, std::size_t ids_max)
      : memory_(memory), keyspace_(keyspace), seed_(seed), ids_max_(ids_max) {}

  [[nodiscard]] std::uint64_t hash_of(std::string_view id) const;
  [[nodiscard]] OperationId named(std::string_view id) const { return {id, hash_of(id)}; }

  // A number for everything that must be the same when an id is used again.
  struct Parameters {
    OperationKind kind = OperationKind::kTake;
    std::span<const Charge> charges = {};
    Mode mode = Mode::kTake;
    Duration ttl = {};
    std::string_view tag = {};
  };
  [[nodiscard]] std::uint64_t fingerprint(const Parameters& parameters) const;

  // The answer that this operation got before; none if the id is new (null); kMismatch if it was another operation's.
  [[nodiscard]] static Result<std::optional<core::Verdict>> replay(const Entry* entry, std::uint64_t fingerprint);

  // Null if it is not remembered.
  [[nodiscard]] Entry* find(const OperationId& id) const;
  // Null if there is no hold of that id.
  [[nodiscard]] HoldRecord* find_hold(const OperationId& id) const { return hold_of(find(id)); }
  [[nodiscard]] static HoldRecord* hold_of(const Entry* entry);

  // Makes room for a new id of an operation on a limit, null: of none that is known; kOutOfMemory if there is none.
  [[nodiscard]] Result<Entry*> insert(const OperationId& id, const LimitRecord* limit);
  // Whether few are left.
  [[nodiscard]] bool are_scarce() const { return count() >= ids_max_ - ids_max_ / 8; }
  // As insert() and fill(), whatever the ceilings are.
  void restore(std::string_view id, const OperationRecord& record);
  // Fills what insert() made. Takes ownership of the hold, if there is one.
  void fill(Entry& entry, const OperationRecord& record);
  void forget(Entry& entry);

 private:
  // An id's entry has its limit's share in its flags. Beyond so many limits some have one together; the first share is
  // of ids whose limit is not known: those from before the last start.
  static constexpr std::size_t kShares = 128;
  static_assert(kShares - 1 < kIsUnrecorded);

  [[nodiscard]] std::size_t count() const { return keyspace_.entry_count(EntryType::kOperation); }

  MemoryGauge& memory_;
  Keyspace& keyspace_;
  const std::uint64_t seed_;
  const std::size_t ids_max_;
  std::array<std::atomic<std::size_t>, kShares> of_share_{};
};

}  // namespace mete::engine
