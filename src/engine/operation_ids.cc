#include "engine/operation_ids.h"

#include <memory>

#include "base/check.h"
#include "base/errors.h"
#include "base/hash.h"
#include "core/refusals.h"

namespace mete::engine {

namespace {

constexpr Space kOperationSpace(EntryType::kOperation, 0);
// Ids and meters must not share hashes: seeds apart.
constexpr std::uint64_t kIdSeed = 0x6f7065726174696f;

}  // namespace

std::uint64_t OperationIds::hash_of(std::string_view id) const { return base::hash_bytes(id, seed_ ^ kIdSeed); }

std::uint64_t OperationIds::fingerprint(const Parameters& parameters) const {
  const auto kind = static_cast<std::uint64_t>(parameters.kind);
  const auto mode = static_cast<std::uint64_t>(parameters.mode);
  std::uint64_t hash = base::hash_number(kind << 8 | mode, seed_);
  for (const Charge& charge : parameters.charges) {
    hash = base::hash_bytes(charge.limit, hash);
    hash = base::hash_bytes(charge.key, hash);
    hash = base::hash_number(static_cast<std::uint64_t>(charge.cost), hash);
  }
  hash = base::hash_number(static_cast<std::uint64_t>(parameters.ttl.ns()), hash);
  return base::hash_bytes(parameters.tag, hash);
}

Entry* OperationIds::find(const OperationId& id) const { return keyspace_.find(id.hash, kOperationSpace, id.text); }

HoldRecord* OperationIds::hold_of(const Entry* entry) {
  return entry == nullptr ? nullptr : entry->load<OperationRecord>().hold;
}

Result<std::optional<core::Verdict>> OperationIds::replay(const Entry* entry, std::uint64_t fingerprint) {
  if (entry == nullptr) return std::nullopt;
  const auto record = entry->load<OperationRecord>();
  if (record.fingerprint == fingerprint) return record.verdict;
  return core::id_mismatch(entry->key());
}

Result<Entry*> OperationIds::insert(const OperationId& id, const LimitRecord* limit) {
  constexpr std::string_view kAdvice = ": raise ids_max, or keep ids for less than id_retention";
  const std::size_t used = count();
  if (used >= ids_max_) {
    return base::out_of_memory("ids: all " + std::to_string(ids_max_) + " are in use" + std::string(kAdvice));
  }
  const std::size_t share = limit == nullptr ? 0 : 1 + limit->number % (kShares - 1);
  if (are_scarce() && of_share_[share].load(std::memory_order_relaxed) >= (ids_max_ - used + 1) / 2) {
    return base::out_of_memory("ids: the limit has its share of the " + std::to_string(ids_max_) +
                               ", and the rest is for others" + std::string(kAdvice));
  }
  Entry* entry = keyspace_.insert(id.hash, kOperationSpace, id.text, sizeof(OperationRecord));
  if (entry == nullptr) return memory_.out_of_memory();
  entry->flags = static_cast<std::uint8_t>(share);
  of_share_[share].fetch_add(1, std::memory_order_relaxed);
  return entry;
}

void OperationIds::restore(std::string_view id, const OperationRecord& record) {
  Entry* entry = keyspace_.insert(hash_of(id), kOperationSpace, id, sizeof(OperationRecord), Slab::Ceiling::kIgnore);
  CHECK(entry != nullptr);
  of_share_[0].fetch_add(1, std::memory_order_relaxed);
  fill(*entry, record);
}

void OperationIds::fill(Entry& entry, const OperationRecord& record) {
  entry.store(record);
  if (record.hold != nullptr) memory_.add(record.hold->bytes());
}

void OperationIds::forget(Entry& entry) {
  const std::unique_ptr<HoldRecord> hold(entry.load<OperationRecord>().hold);
  if (hold != nullptr) memory_.subtract(hold->bytes());
  of_share_[entry.flags].fetch_sub(1, std::memory_order_relaxed);
  keyspace_.erase(entry.hash_low, &entry);
}

}  // namespace mete::engine
