#include "server/doors/resp/command_table.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "wire/text.h"

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

// A hash table that is filled once: open addressing, a quarter full.
class NameIndex {
 public:
  struct Slot {
    FoldedName name;
    const Command* command = nullptr;
    int arity = 0;
    bool is_container = false;
  };

  NameIndex() {
    CHECK(all_commands().size() * 4 <= kSlots);
    for (const Command& command : all_commands()) {
      Slot& slot = find(command.container());
      slot.name = fold(command.container());
      if (command.is_subcommand()) {
        slot.is_container = true;
      } else {
        slot.command = &command;
        slot.arity = command.arity();
      }
    }
  }

  [[nodiscard]] Slot& find(std::string_view name) {
    const FoldedName folded = fold(name);
    std::size_t at = (folded.low * 0x9e3779b97f4a7c15 ^ folded.high * 0xc2b2ae3d27d4eb4f) >> 55;
    while ((slots_[at].command != nullptr || slots_[at].is_container) && slots_[at].name != folded)
      at = (at + 1) % kSlots;
    return slots_[at];
  }

 private:
  static constexpr std::size_t kSlots = 512;

  std::array<Slot, kSlots> slots_;
};

}  // namespace

FoundCommand find_command(std::span<const std::string_view> words) {
  static NameIndex index;
  if (words[0].empty() || words[0].size() > kNameMax) return {};
  const NameIndex::Slot& slot = index.find(words[0]);
  if (!slot.is_container) return {slot.command, slot.arity, 1, false};
  for (const Command& command : all_commands()) {
    if (!command.is_subcommand() || words.size() < 2 || !wire::equals_ignoring_case(command.container(), words[0]))
      continue;
    if (wire::equals_ignoring_case(command.name.substr(command.container().size() + 1), words[1]))
      return {&command, command.arity(), 2, true};
  }
  // A second word that the command itself has no use for was meant as a subcommand.
  if (words.size() > 1 && slot.arity == 1) return {nullptr, 0, 1, true};
  return {slot.command, slot.arity, 1, true};
}

}  // namespace mete::server
