#include "store/etcd/memory.h"

#include <utility>

namespace mete::store::etcd {

namespace {

// There are few of them, and every transaction needs some.
bool must_be_known(const EntryName& entry) { return entry.space == Space::kLimit || entry.space == Space::kClock; }

}  // namespace

bool Memory::recall(std::span<const EntryName> entries, Image& image) {
  const std::lock_guard guard(mutex_);
  if (must_read(entries)) return false;
  for (const EntryName& entry : entries) {
    const Known* const known = find(entry);
    image.emplace(entry, known != nullptr ? known->slot : Slot());
  }
  return true;
}

bool Memory::must_read(std::span<const EntryName> entries) {
  bool is_guess = false;
  for (const EntryName& entry : entries) {
    Known* const known = find(entry);
    if (known == nullptr && must_be_known(entry)) return true;
    if (known != nullptr && known->reads_to_come > 0) {
      --known->reads_to_come;
      return true;
    }
    is_guess |= known == nullptr;
  }
  if (!is_guess || guesses_to_skip_ == 0) return false;
  --guesses_to_skip_;
  return true;
}

Memory::Known* Memory::find(const EntryName& entry) {
  for (Keys* keys : {&young_, &old_}) {
    if (const auto found = keys->find(entry); found != keys->end()) return &found->second;
  }
  return nullptr;
}

void Memory::keep(const Image& image) {
  const std::lock_guard guard(mutex_);
  if (young_.size() + image.size() > kKeysMax / 2) old_ = std::exchange(young_, {});
  for (const auto& [entry, slot] : image) {
    const Known* const before = find(entry);
    const int reads_to_come = before != nullptr ? before->reads_to_come : 0;
    old_.erase(entry);
    // That there is no such key would be guessed anyway.
    if (slot.revision == 0 && !must_be_known(entry)) {
      young_.erase(entry);
    } else {
      young_.insert_or_assign(entry, Known{slot, reads_to_come});
    }
  }
}

void Memory::was_wrong(const EntryName& entry) {
  const std::lock_guard guard(mutex_);
  Known* const known = find(entry);
  (known != nullptr ? known->reads_to_come : guesses_to_skip_) = kReadsAfterMistake;
}

void Memory::forget(std::span<const EntryName> entries) {
  const std::lock_guard guard(mutex_);
  for (const EntryName& entry : entries) {
    young_.erase(entry);
    old_.erase(entry);
  }
}

}  // namespace mete::store::etcd
