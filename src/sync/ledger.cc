#include "sync/ledger.h"

#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace mete::sync {

namespace {

using KeyLength = std::uint16_t;
static_assert(kKeyBytesMax <= 0xffff);

}  // namespace

std::string_view Ledger::Entry::key() const {
  KeyLength length = 0;
  std::memcpy(&length, key_, sizeof length);
  return {key_ + sizeof length, length};
}

void Ledger::look_first(std::string_view key, Amount used) { find_or_add(key).first_ = used; }

void Ledger::look_again(std::string_view key, Amount used) {
  const std::uint32_t index = slots_[slot_of(key)];
  if (index != kEmpty) entries_[index].again_ = used;
}

bool Ledger::tell_truth(std::string_view key, Amount truth) {
  Entry& entry = find_or_add(key);
  if (entry.has_truth()) return false;
  entry.truth_ = truth;
  return true;
}

std::size_t Ledger::slot_of(std::string_view key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = base::hash_bytes(key, seed_) & mask;
  while (slots_[slot] != kEmpty && entries_[slots_[slot]].key() != key) slot = (slot + 1) & mask;
  return slot;
}

Ledger::Entry& Ledger::find_or_add(std::string_view key) {
  std::size_t slot = slot_of(key);
  if (slots_[slot] != kEmpty) return entries_[slots_[slot]];
  if (entries_.size() >= slots_.size() / 4 * 3) {
    grow();
    slot = slot_of(key);
  }
  CHECK(entries_.size() < kKeysMax);
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  Entry& entry = entries_.emplace_back();
  entry.key_ = keep(key);
  return entry;
}

const char* Ledger::keep(std::string_view key) {
  CHECK(key.size() <= kKeyBytesMax);
  const auto length = static_cast<KeyLength>(key.size());
  if (kBlockBytes - block_used_ < sizeof length + key.size()) {
    blocks_.push_back(std::make_unique<char[]>(kBlockBytes));  // NOLINT(modernize-avoid-c-arrays)
    block_used_ = 0;
  }
  char* const at = blocks_.back().get() + block_used_;
  std::memcpy(at, &length, sizeof length);
  std::memcpy(at + sizeof length, key.data(), key.size());
  block_used_ += sizeof length + key.size();
  return at;
}

void Ledger::grow() {
  const std::size_t size = slots_.size() * 2;
  slots_ = std::vector<std::uint32_t>();  // before the larger one is made
  slots_.assign(size, kEmpty);
  for (std::size_t i = 0; i < entries_.size(); ++i) slots_[slot_of(entries_[i].key())] = static_cast<std::uint32_t>(i);
}

}  // namespace mete::sync
