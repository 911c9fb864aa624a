// Change: what an entry became. A record of the journal is a list of changes that happened in one step, and a snapshot
// is a list of changes that make everything from nothing. Since a change says what became of an entry, and not what was
// done to it, applying it twice is the same as once.
//
//     record = { tag · change }             docs/formats/changes.md has the bytes
//
// Limits are named by their generation, which is unlike any other limit's ever: a change of a limit that has been
// dropped since is of no account.
//
// Views are valid as long as what they were read from.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/key_operations.h"
#include "core/rule.h"
#include "engine/hold_record.h"

namespace mete::engine {

class Encoder;

// One charge of an open hold, as its meter keeps it.
struct PartChange : core::HeldPart {
  std::uint64_t serial = 0;
  std::uint64_t charge = 0;
  std::string_view id;  // empty where the part is taken away
};

// Nearly always one, of the hold that was made or ended; so it takes no memory from the heap.
using PartChanges = boost::container::small_vector<PartChange, 1>;

// A meter with the parts held of it. First those that have expired go, then `removed`, then `added` come.
struct MeterChange {
  std::uint64_t generation = 0;
  bool is_even = true;  // the revision of the limit under whose rule the state is
  std::string_view key;
  std::string_view state;      // as many bytes as the kind keeps; none: there is no such meter any more
  Instant expired_until = {};  // the epoch: none have expired
  PartChanges removed = {};
  PartChanges added = {};

  [[nodiscard]] bool has_part_changes() const {
    return expired_until != Instant() || !removed.empty() || !added.empty();
  }
};

// An operation with an id, and its hold if it is one.
struct OperationChange {
  std::string_view id;
  OperationRecord record = {};  // its hold is not the owner's: see `hold`
  std::optional<HoldRecord> hold = {};
};

struct OverrideChange {
  std::uint64_t generation = 0;
  std::string_view key;
  std::optional<Amount> amount = {};  // none: the limit's own again
};

// A counter, quota or throttle; kNone: there is no such key any more.
struct KeyChange {
  std::string_view key;
  core::KeyType type = core::KeyType::kNone;
  std::int64_t value = 0;               // a counter's
  Instant expires_at = Instant::max();  // a counter's
  core::Rule rule = {};                 // a quota's or throttle's
  std::string_view state = {};          // a quota's or throttle's
};

struct LimitChange {
  std::uint64_t generation = 0;
  bool is_even = true;
  Instant changed_at = {};
  Limit limit;
};

struct DropChange {
  std::uint64_t generation = 0;
};

// Everything but limits and overrides is forgotten.
struct ClearChange {};

// The numbers that come next. In a snapshot, since what had the last ones may be gone.
struct NumbersChange {
  std::uint64_t next_generation = 0;
  std::uint64_t next_serial = 0;
};

void write_change(Encoder& record, const MeterChange& change);
// The hold is the record's own.
void write_operation(Encoder& record, std::string_view id, const OperationRecord& operation);
void write_change(Encoder& record, const OverrideChange& change);
void write_change(Encoder& record, const KeyChange& change);
void write_change(Encoder& record, const LimitChange& change);
void write_change(Encoder& record, const DropChange& change);
void write_change(Encoder& record, const ClearChange& change);
void write_change(Encoder& record, const NumbersChange& change);

class ChangeVisitor {
 public:
  ChangeVisitor() = default;
  ChangeVisitor(const ChangeVisitor&) = delete;
  ChangeVisitor& operator=(const ChangeVisitor&) = delete;
  virtual ~ChangeVisitor() = default;

  virtual Result<void> visit(MeterChange& change) = 0;
  virtual Result<void> visit(OperationChange& change) = 0;
  virtual Result<void> visit(OverrideChange& change) = 0;
  virtual Result<void> visit(KeyChange& change) = 0;
  virtual Result<void> visit(LimitChange& change) = 0;
  virtual Result<void> visit(DropChange& change) = 0;
  virtual Result<void> visit(ClearChange& change) = 0;
  virtual Result<void> visit(NumbersChange& change) = 0;
};

// Visits the changes of a record in order, up to the first that cannot be read or is refused. What is read is within
// the bounds of its fields, whatever the bytes are.
[[nodiscard]] Result<void> read_changes(std::string_view record, ChangeVisitor& visitor);

}  // namespace mete::engine
