// Counter: a number that several nodes add to without asking each other. Each node adds in a slot of its own, and
// merging two states takes the larger of each slot: so a state that comes twice, late or out of order changes nothing.
//
//     epoch    which SET or DEL the counter descends from, and the value that it set: the latest one wins, with
//              everything that belongs to it. Epoch 0 is that of a counter which nobody has set.
//     slots    what each node has added and taken off since, never less than before
//     expiry   when it expires: the latest word in the epoch wins
//
// merge() is commutative, associative and idempotent for any states whatever. docs/counters.md has the rules for users.
//
// A writer is a node in one of its lives: a node that starts anew has forgotten its slots, and so gets new ones.
// Stamps order words of different nodes: their number is the writer's time in nanoseconds, or one more than the largest
// number that it has seen in the counter. Thread safety: a value.
#pragma once

#include <mete/time.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <compare>
#include <cstdint>
#include <string>

#include "base/math.h"

namespace mete::escrow {

__extension__ using Int128 = __int128;

inline constexpr std::size_t kNodeBytesMax = 64;

// What is added to a slot in all the life of a node stays far below. The sum of all slots that fit into memory is then
// within 128 bits.
inline constexpr base::Uint128 kSlotMax = base::Uint128{1} << 96;

// How long a counter that has gone is remembered, so that nodes which have not heard of it yet do not bring it back.
// One that has expired says so itself in every state that has its expiry: there it is about clocks that differ.
inline constexpr Duration kDeletedKept = std::chrono::hours(1);
inline constexpr Duration kExpiredKept = std::chrono::minutes(1);
inline constexpr Duration kGoneKept = std::min(kDeletedKept, kExpiredKept);

struct Writer {
  std::string node;
  std::uint64_t incarnation = 0;

  auto operator<=>(const Writer&) const = default;
};

struct Stamp {
  std::uint64_t number = 0;
  Writer writer;

  auto operator<=>(const Stamp&) const = default;
};

// Ordered by the stamp. Two epochs of one stamp are one; but where somebody breaks that rule all nodes shall still
// agree.
struct Epoch {
  Stamp stamp;
  bool has_base = false;
  std::int64_t base = 0;

  auto operator<=>(const Epoch&) const = default;
};

struct ExpiryWord {
  Stamp stamp;
  Instant at = Instant::max();

  auto operator<=>(const ExpiryWord&) const = default;
};

struct Slot {
  Writer writer;
  base::Uint128 increments = 0;
  base::Uint128 decrements = 0;

  bool operator==(const Slot&) const = default;
};

// Most counters of a node alone have one, which lies with the counter.
using Slots = boost::container::small_vector<Slot, 1>;

struct Counter {
  Epoch epoch;
  ExpiryWord expiry;
  Slots slots;  // in the order of their writers, no writer twice

  bool operator==(const Counter&) const = default;

  // It was set or added to since it was last deleted.
  [[nodiscard]] bool is_present() const { return epoch.has_base || !slots.empty(); }
  [[nodiscard]] bool is_live(Instant now) const { return is_present() && now < expiry.at; }
  [[nodiscard]] bool is_expiring() const { return expiry.at != Instant::max(); }
  // It has gone, and for so long that it need not be remembered. `factor`: as if the time to remember were longer.
  [[nodiscard]] bool is_forgotten(Instant now, int factor = 1) const;

  // The sum; that of several nodes may be past 64 bits.
  [[nodiscard]] Int128 exact_value() const;
  // The sum as it is shown: the nearest number of 64 bits.
  [[nodiscard]] std::int64_t value() const;

  // What one node does. A counter whose time is over is as one that was never set; add() begins its next epoch.
  void set(const Writer& self, std::int64_t value, Instant now);
  void remove(const Writer& self, Instant now);
  // False, and nothing changed, if the slot would pass kSlotMax.
  [[nodiscard]] bool add(const Writer& self, std::int64_t by, Instant now);
  void expire_at(const Writer& self, Instant at, Instant now);

  // Whether this changed.
  bool merge(const Counter& other);

 private:
  [[nodiscard]] Stamp next_stamp(const Writer& self, Instant now) const;
  void begin(Epoch next);
  [[nodiscard]] Slot& slot_of(const Writer& writer);
};

}  // namespace mete::escrow
