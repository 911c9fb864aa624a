// Ledger: for each key what the store has counted and what the source of truth says, in little memory: a million keys
// of 20 bytes take about 65 MB.
//
//     ledger.look_first("acme", 500);      // before the source's snapshot
//     ledger.look_again("acme", 480);      // after it
//     ledger.tell_truth("acme", 520);      // from the query
//
// Keys lie one behind the other in blocks that never move, and a table of 32-bit numbers finds their entries.
// Thread safety: none.
#pragma once

#include <mete/limit.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

namespace mete::sync {

class Ledger {
 public:
  static constexpr std::size_t kKeysMax = 0xffff'fffe;

  class Entry {
   public:
    [[nodiscard]] std::string_view key() const;
    // What the store had counted when the source was read, or less: the smaller of the two looks. A larger one could
    // take off what has been given back between the first look and the snapshot a second time.
    [[nodiscard]] Amount mark() const { return std::min(first_, again_); }
    [[nodiscard]] bool has_truth() const { return truth_ != kNone; }
    [[nodiscard]] Amount truth() const { return truth_; }

   private:
    friend class Ledger;
    static constexpr Amount kNone = -1;

    const char* key_ = nullptr;  // two bytes with its length, then its bytes
    Amount first_ = 0;
    Amount again_ = 0;  // a key that is not seen again is not used any more
    Amount truth_ = kNone;
  };

  explicit Ledger(std::uint64_t seed) : seed_(seed) {}

  void look_first(std::string_view key, Amount used);
  // A key that is new by now was not used before: its mark is 0, and there is nothing to note.
  void look_again(std::string_view key, Amount used);
  // False if this key was told before.
  [[nodiscard]] bool tell_truth(std::string_view key, Amount truth);

  [[nodiscard]] const std::deque<Entry>& entries() const { return entries_; }

 private:
  // The slot with the key's entry, or the empty one where it belongs.
  [[nodiscard]] std::size_t slot_of(std::string_view key) const;
  Entry& find_or_add(std::string_view key);
  const char* keep(std::string_view key);
  void grow();

  static constexpr std::uint32_t kEmpty = 0xffff'ffff;
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

  const std::uint64_t seed_;
  std::deque<Entry> entries_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(1024, kEmpty);  // a power of two
  std::vector<std::unique_ptr<char[]>> blocks_;                                  // NOLINT(modernize-avoid-c-arrays)
  std::size_t block_used_ = kBlockBytes;
};

}  // namespace mete::sync
