// Holds: what they touch is known only when they are; so an operation on one reads it first, unless it was made here.

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "core/refusals.h"
#include "store/etcd/entry.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/listing.h"

namespace mete::store::etcd {

namespace {

constexpr std::size_t kNotedMax = 10'000;
constexpr int kLooksMax = 8;  // for a hold whose id was used anew meanwhile
constexpr std::size_t kPageHolds = 1000;

Error too_many_holds(const Charge& charge) {
  return base::out_of_memory("hold: " + std::to_string(EtcdStore::kOpenHoldsMax) + " are open on '" +
                             std::string(charge.limit) + "' of '" + std::string(charge.key) +
                             "', and etcd keeps no more on one key: commit or cancel some, or let them "
                             "expire sooner");
}

// None of the charges, or the first whose meter has no room for another hold.
const Charge* find_full(engine::Engine& engine, std::span<const Charge> charges, Instant now) {
  for (const Charge& charge : charges) {
    const auto open = engine.holds(charge, EtcdStore::kOpenHoldsMax, now);
    if (open && open->size() >= EtcdStore::kOpenHoldsMax) return &charge;
  }
  return nullptr;
}

// Whether all that the hold charges is there: what is not would be taken for a limit that was dropped.
bool has_all(engine::Engine& engine, std::string_view id, std::span<const EntryName> entries, Instant now) {
  const auto hold = engine.find_hold(id, now);
  if (!hold || hold->state != HoldState::kHeld) return true;
  return std::ranges::all_of(hold->charges, [&](const auto& charge) {
    return std::ranges::find(entries, EntryName{Space::kMeter, charge.limit, charge.key}) != entries.end();
  });
}

}  // namespace

Result<core::Verdict> EtcdStore::perform(const core::Hold& hold) {
  Result<core::Verdict> answer = Error();
  const std::vector<Usage> untold(hold.usages.begin(), hold.usages.end());
  std::vector<EntryName> entries = charged_entries(hold.charges, hold.id);
  Call call = {.entries = entries,
               .decide =
                   [&](engine::Engine& engine, Instant now) {
                     std::copy(untold.begin(), untold.end(), hold.usages.begin());
                     const bool is_known = engine.find_hold(hold.id, now).has_value();
                     const Charge* const full = is_known ? nullptr : find_full(engine, hold.charges, now);
                     answer = full != nullptr ? too_many_holds(*full) : engine.hold(hold, now);
                     return answer.has_value() && (answer->is_allowed || !hold.is_id_random);
                   },
               .is_repeatable = true,
               .makes_holds = true};
  TRY(transactor_.change(call));
  if (answer.has_value() && answer->is_allowed) note_hold(hold.id, entries);
  return answer;
}

void EtcdStore::note_hold(std::string_view id, const std::vector<EntryName>& entries) {
  const std::lock_guard lock(holds_mutex_);
  if (holds_.size() >= kNotedMax) holds_.clear();
  holds_.insert_or_assign(std::string(id), entries);
}

std::optional<std::vector<EntryName>> EtcdStore::noted_hold(std::string_view id) {
  const std::lock_guard lock(holds_mutex_);
  const auto found = holds_.find(id);
  if (found == holds_.end()) return std::nullopt;
  std::vector<EntryName> entries = std::move(found->second);
  holds_.erase(found);
  return entries;
}

Result<std::vector<EntryName>> EtcdStore::entries_of_hold(std::string_view id) {
  const EntryName operation{Space::kOperation, {}, std::string(id)};
  const auto image = TRY(transactor_.fetch({operation}));
  std::vector<EntryName> entries = {operation};
  const Slot& slot = image.at(operation);
  if (slot.revision == 0) return entries;
  const auto record = TRY(decode_record(slot.value, operation.name));
  const auto hold = TRY(summary_of(record.changes, operation));
  if (hold) entries.insert(entries.end(), hold->entries.begin(), hold->entries.end());
  return entries;
}

template <class What>
Result<typename What::Answer> EtcdStore::decide_on_hold(const What& operation) {
  std::optional<std::vector<EntryName>> noted = noted_hold(operation.id);
  for (int look = 0; look < kLooksMax; ++look) {
    const auto entries = TRY(noted ? Result<std::vector<EntryName>>(*std::exchange(noted, std::nullopt))
                                   : entries_of_hold(operation.id));
    bool is_another = false;
    auto answer = decide(entries, operation, [&](engine::Engine& engine, Instant now) {
      is_another = !has_all(engine, operation.id, entries, now);
      return !is_another;
    });
    if (!is_another) return answer;
  }
  return base::unavailable("etcd: the hold changes again and again; try later");
}

template Result<Settlement> EtcdStore::decide_on_hold(const Commit& operation);
template Result<Settlement> EtcdStore::decide_on_hold(const core::Cancel& operation);
template Result<Duration> EtcdStore::decide_on_hold(const core::Extend& operation);

Result<std::vector<std::string>> EtcdStore::perform(const core::ListTagged& list) {
  const KeyRange range = range_of(transactor_.prefix(), Space::kTag, list.tag);
  Image image;
  std::string after;
  for (bool has_more = true; has_more;) {
    auto page = TRY(list_after(transactor_, range, after, kPageHolds, Values::kYes));
    has_more = page.has_more;
    for (KeyValue& pair : page.pairs) {
      if (auto entry = entry_in(transactor_.prefix(), pair.key)) image[*entry] = {std::move(pair.value), pair.revision};
      after = std::move(pair.key);
    }
  }
  const auto scratch = TRY(transactor_.scratch_of(image));
  return scratch->engine().holds_tagged(list.tag, scratch->now());
}

Result<std::vector<HoldInfo>> EtcdStore::perform(const core::OldestHolds& oldest) {
  const KeyRange range = range_of(transactor_.prefix(), Space::kOperation);
  struct Found {
    HoldSummary hold;
    EntryName entry;
    Slot slot;
  };
  std::vector<Found> holds;
  const auto is_older = [](const Found& a, const Found& b) {
    return std::tie(a.hold.made_at, a.hold.serial, a.hold.id) < std::tie(b.hold.made_at, b.hold.serial, b.hold.id);
  };
  std::string after;
  for (bool has_more = true; has_more;) {
    auto page = TRY(list_after(transactor_, range, after, kPageHolds, Values::kYes));
    has_more = page.has_more;
    for (KeyValue& pair : page.pairs) {
      const auto record = TRY(decode_record(pair.value, pair.key));
      const auto entry = entry_in(transactor_.prefix(), pair.key);
      after = pair.key;
      if (!entry) continue;
      TRY(transactor_.go_on_from({.at = record.written_at, .entry = *entry}));
      const auto hold = TRY(summary_of(record.changes, *entry));
      if (!hold || hold->expires_at <= now()) continue;
      holds.push_back({*hold, *entry, {std::move(pair.value), pair.revision}});
    }
    std::sort(holds.begin(), holds.end(), is_older);
    if (holds.size() > oldest.count_max) holds.resize(oldest.count_max);
  }
  Image image;
  for (const Found& found : holds) image[found.entry] = found.slot;
  const auto scratch = TRY(transactor_.scratch_of(image));
  std::vector<HoldInfo> infos;
  for (const Found& found : holds) {
    if (auto info = scratch->engine().find_hold(found.hold.id, scratch->now())) infos.push_back(std::move(*info));
  }
  return infos;
}

}  // namespace mete::store::etcd
