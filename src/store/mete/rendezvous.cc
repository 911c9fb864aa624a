#include "store/mete/rendezvous.h"

#include "base/check.h"
#include "base/hash.h"
#include "store/hash_tag.h"

namespace mete::store::servers {

namespace {

// Not at random: all who share the servers must find the same. Another number would move nearly every key.
constexpr std::uint64_t kNameSeed = 0x6d65'7465'2d72'7631;

}  // namespace

Rendezvous::Rendezvous(std::span<const std::string> names) {
  CHECK(!names.empty());
  for (const std::string& name : names) seeds_.push_back(base::hash_bytes(name, kNameSeed));
}

std::size_t Rendezvous::owner_of(std::string_view key) const {
  if (seeds_.size() == 1) return 0;
  const std::uint64_t hash = base::hash_bytes(hashed_part(key), kNameSeed);
  std::size_t owner = 0;
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    const std::uint64_t bid = base::hash_number(hash, seeds_[i]);
    // Two equal bids are as good as impossible; the lower seed has it then, whatever the order.
    if (i == 0 || bid > highest || (bid == highest && seeds_[i] < seeds_[owner])) {
      owner = i;
      highest = bid;
    }
  }
  return owner;
}

}  // namespace mete::store::servers
