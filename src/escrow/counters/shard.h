// Shard: a part of the table of counters, with the order in which they were made and that in which they changed.
//
//     table     key → entry; an entry stays where it is
//     births    for listings: a key that is there throughout has one number throughout
//     changes   one number for each entry: what a peer has not seen yet is all above the number it has seen. A counter
//               that changes again moves to the end; so what waits for a peer is never more than all counters
//
// A counter that changes while its last change has not been read by anybody stays where it is in the order: a busy one
// moves only as often as somebody reads. Thread safety: none; Counters locks it.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "escrow/counters/codec.h"
#include "escrow/counters/counter.h"

namespace mete::escrow {

// Who a change came from: the hash of a writer, or kNobody for what was done here.
using Source = std::uint64_t;
inline constexpr Source kNobody = 0;

// Who reads changes, and when. kNobody has sent none of them.
struct Reader {
  Source source = kNobody;
  Instant now;
};

// With a seed of this process: clients cannot choose keys that collide.
std::uint64_t hash_of_key(std::string_view key);

// A key with its hash.
struct CounterKey {
  std::string_view text;
  std::uint64_t hash = 0;
};

struct CounterEntry;

// Where an entry is in an order; number 0: nowhere yet.
struct OrderPlace {
  std::uint64_t number = 0;
  std::size_t index = 0;
};

// Entries by numbers that only grow. One that leaves its place leaves a hole; when most places are holes they are
// closed. `kPlace`: where an entry keeps its place.
template <auto kPlace>
class EntryOrder {
 public:
  struct Slot {
    std::uint64_t number = 0;
    CounterEntry* entry = nullptr;  // null: a hole
  };

  void append(CounterEntry& entry) {
    entry.*kPlace = {++last_, slots_.size()};
    slots_.push_back({last_, &entry});
  }
  void remove(CounterEntry& entry) {
    if ((entry.*kPlace).number == 0) return;
    slots_[(entry.*kPlace).index].entry = nullptr;
    if (++holes_ > slots_.size() / 2 + kHolesMin) close_holes();
  }

  [[nodiscard]] std::uint64_t last() const { return last_; }
  // Those behind the number, in order, holes among them; good until something is removed.
  [[nodiscard]] std::span<const Slot> after(std::uint64_t number) const {
    const auto first = std::upper_bound(slots_.begin(), slots_.end(), number,
                                        [](std::uint64_t wanted, const Slot& slot) { return wanted < slot.number; });
    return {first, slots_.end()};
  }

 private:
  static constexpr std::size_t kHolesMin = 64;

  void close_holes() {
    std::erase_if(slots_, [](const Slot& slot) { return slot.entry == nullptr; });
    for (std::size_t i = 0; i < slots_.size(); ++i) (slots_[i].entry->*kPlace).index = i;
    holes_ = 0;
  }

  std::vector<Slot> slots_;
  std::uint64_t last_ = 0;
  std::size_t holes_ = 0;
};

struct alignas(64) CounterEntry {
  Counter counter;
  OrderPlace change;
  OrderPlace birth;
  Source source = kNobody;  // has all of this counter, and need not be sent it
  std::string key;
};

class Shard {
 public:
  using Entry = CounterEntry;

  // `remembered` counts the entries of all shards.
  void count_in(std::atomic<std::size_t>& remembered) { remembered_ = &remembered; }
  // nullptr if there is none, or none that is still remembered.
  Entry* find(const CounterKey& key, Instant now);
  Entry& find_or_make(const CounterKey& key, Instant now);
  // Has what an operation on the key reads on its way from memory.
  void prefetch(std::uint64_t hash) const;
  // Changes the counter by act(counter), and notes that it has changed.
  template <class Act>
  void update(Entry& entry, Source source, Act act) {
    const bool was_present = entry.counter.is_present();
    act(entry.counter);
    if (was_present != entry.counter.is_present()) present_ += was_present ? static_cast<std::size_t>(-1) : 1;
    note_change(entry, source);
  }
  // Notes a change that is none but for the others: they lack something of it.
  void note_change(Entry& entry, Source source);

  std::uint64_t skip_changes() { return read_up_to_ = changes_.last(); }
  // The number of the last change.
  [[nodiscard]] std::uint64_t last_change() const { return changes_.last(); }
  // How many are there that were not deleted.
  [[nodiscard]] std::size_t present() const { return present_; }
  // Calls act(entry) for those born after the number, in order, while it returns true.
  void visit_births(std::uint64_t after, const std::function<bool(const Entry&)>& act) const;
  // Forgets what need not be remembered among the next few after the number; returns where to go on, 0 for the start.
  std::uint64_t sweep(std::uint64_t after, std::size_t count, Instant now);

  // Appends the states that changed after the number, are still remembered and did not come from the reader, until
  // there are `bytes_max` bytes; returns up to which change that is.
  std::uint64_t read_changes(std::uint64_t after, const Reader& reader, StateWriter& states, std::size_t bytes_max);
  [[nodiscard]] std::size_t count_changes(std::uint64_t after, Source reader) const;

 private:
  // The hash beside the entry: looking for one touches no other.
  struct Cell {
    std::uint64_t hash = 0;
    std::unique_ptr<Entry> entry;
  };
  struct Hash {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(const Cell& cell) const { return cell.hash; }
    std::size_t operator()(const CounterKey& key) const { return key.hash; }
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Cell& one, const Cell& other) const {
      return one.hash == other.hash && one.entry->key == other.entry->key;
    }
    bool operator()(const CounterKey& key, const Cell& cell) const {
      return key.hash == cell.hash && key.text == cell.entry->key;
    }
    // For prefetch(): that it is another key of the same hash does no harm.
    bool operator()(std::uint64_t hash, const Cell& cell) const { return hash == cell.hash; }
  };
  using Table = boost::unordered_flat_set<Cell, Hash, Equal>;

  void forget(Table::iterator at);

  std::atomic<std::size_t>* remembered_ = nullptr;
  Table table_;
  EntryOrder<&Entry::birth> births_;
  EntryOrder<&Entry::change> changes_;
  std::uint64_t read_up_to_ = 0;  // changes above it nobody has read
  std::size_t present_ = 0;
};

}  // namespace mete::escrow
