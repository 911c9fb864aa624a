// Shard: a part of the table of counters, with the order in which they were made and that in which they changed.
//
//     entries   key → counter; the entries stay where they are
//     births    number → entry, for listings: a key that is there throughout has one number throughout
//     changes   number → entry, one for each: what a peer has not seen yet is all above the number it has seen. A
//     counter
//               that changes again moves to the end; so what waits for a peer is never more than all counters
//
// A counter that changes while its last change has not been read by anybody stays where it is in the order: a busy one
// moves only as often as somebody reads. Thread safety: none; Counters locks it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

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

class Shard {
 public:
  struct Entry {
    Counter counter;
    const std::string* key = nullptr;
    std::uint64_t birth = 0;
    std::uint64_t change = 0;  // 0: none yet
    Source source = kNobody;   // has all of this counter, and need not be sent it
  };

  // nullptr if there is none, or none that is still remembered.
  Entry* find(std::string_view key, Instant now);
  Entry& find_or_make(std::string_view key, Instant now);
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
  // So that a look-up by a view makes no string.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return hash_of_key(key); }
  };
  using Entries = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;

  void forget(Entries::iterator at);

  Entries entries_;
  std::map<std::uint64_t, Entry*> births_;
  std::map<std::uint64_t, Entry*> changes_;
  std::uint64_t last_birth_ = 0;
  std::uint64_t last_change_ = 0;
  std::uint64_t read_up_to_ = 0;  // changes above it nobody has read
  std::size_t present_ = 0;
};

}  // namespace mete::escrow
