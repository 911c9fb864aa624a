#include "server/doors/resp/command_table.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace mete::server {

namespace {

// A name of up to 15 bytes, and its length, as two words in lower case: compared in one go. Of the bytes that fold
// together, those from 64 on with the ones 32 above them, only letters stand in names.
struct FoldedName {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const FoldedName&) const = default;
};

constexpr std::size_t kNameMax = 15;

FoldedName fold(std::string_view name) {
  FoldedName folded;
  char bytes[kNameMax + 1] = {};
  std::memcpy(bytes, name.data(), name.size());
  bytes[kNameMax] = static_cast<char>(name.size());
  std::memcpy(&folded.low, bytes, 8);
  std::memcpy(&folded.high, bytes + 8, 8);
  constexpr std::uint64_t kLetters = 0x4040404040404040;
  folded.low |= (folded.low & kLetters) >> 1;
  folded.high |= (folded.high & kLetters) >> 1;
  return folded;
}

// A hash table that is filled once: open addressing, at most a third full.
class NameIndex {
 public:
  struct Slot {
    FoldedName name;
    FoldedName container = {};  // of a subcommand
    const Command* command = nullptr;
    int arity = 0;
    bool is_container = false;
  };

  // Of commands and containers; a subcommand has its container's name in it, too.
  NameIndex() {
    CHECK(all_commands().size() * 3 <= kSlots);
    for (const Command& command : all_commands()) {
      Slot& slot = find(fold(command.container()));
      slot.name = fold(command.container());
      slot.is_container = slot.is_container || command.is_subcommand();
      if (command.is_subcommand()) {
        const FoldedName name = within(slot.name, command.name.substr(command.container().size() + 1));
        Slot& within = find(name);
        put(within, name, command);
        within.container = slot.name;
      } else {
        put(slot, slot.name, command);
      }
    }
  }

  [[nodiscard]] Slot& find(const FoldedName& folded) {
    std::size_t at = (folded.low * 0x9e3779b97f4a7c15 ^ folded.high * 0xc2b2ae3d27d4eb4f) >> (64 - kSlotBits);
    while ((slots_[at].command != nullptr || slots_[at].is_container) && slots_[at].name != folded)
      at = (at + 1) % kSlots;
    return slots_[at];
  }

  // A subcommand's name within its container's: no name of one word is like it, for its last byte is above any length.
  static FoldedName within(const FoldedName& container, std::string_view subcommand) {
    FoldedName name = fold(subcommand);
    name.low ^= container.low << 1U;
    name.high ^= container.high << 1U | std::uint64_t{1} << 63U;
    return name;
  }

 private:
  static constexpr std::size_t kSlotBits = 9;
  static constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;

  static void put(Slot& slot, const FoldedName& name, const Command& command) {
    CHECK(slot.command == nullptr);  // no two have one name
    slot.name = name;
    slot.command = &command;
    slot.arity = command.arity();
  }

  std::array<Slot, kSlots> slots_;
};

}  // namespace

FoundCommand find_command(std::span<const std::string_view> words) {
  static NameIndex index;
  if (words[0].empty() || words[0].size() > kNameMax) return {};
  const NameIndex::Slot& slot = index.find(fold(words[0]));
  if (!slot.is_container) return {slot.command, slot.arity, 1, false};
  if (words.size() > 1 && !words[1].empty() && words[1].size() <= kNameMax) {
    const NameIndex::Slot& within = index.find(NameIndex::within(slot.name, words[1]));
    if (within.command != nullptr && within.container == slot.name) return {within.command, within.arity, 2, true};
  }
  // A second word that the command itself has no use for was meant as a subcommand.
  if (words.size() > 1 && slot.arity == 1) return {nullptr, 0, 1, true};
  return {slot.command, slot.arity, 1, true};
}

}  // namespace mete::server
