// Holds: what they touch is known only when they are; so an operation on one reads it first, unless it was made here.

#include <algorithm>

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
  return {ErrorCode::kOutOfMemory, "hold: " + std::to_string(EtcdStore::kOpenHoldsMax) + " are open on '" +
                                       std::string(charge.limit) + "' of '" + std::string(charge.key) +
                                       "', and etcd keeps no more on one key: commit or cancel some, or let them "
                                       "expire sooner"};
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

Result<core::Verdict> EtcdStore::do_hold(const HoldRequest& request) {
  Result<core::Verdict> answer = tl::unexpected(Error());
  const std::vector<Usage> untold(request.usages.begin(), request.usages.end());
  std::vector<EntryName> entries = entries_of(request.charges, request.id);
  Call call = {.entries = entries,
               .decide =
                   [&](engine::Engine& engine, Instant now) {
                     std::copy(untold.begin(), untold.end(), request.usages.begin());
                     const bool is_known = engine.find_hold(request.id, now).has_value();
                     const Charge* const full = is_known ? nullptr : find_full(engine, request.charges, now);
                     answer = full != nullptr ? tl::unexpected(too_many_holds(*full)) : engine.hold(request, now);
                     return answer && (answer->is_allowed || !request.is_id_random);
                   },
               .is_repeatable = true,
               .makes_holds = true};
  if (auto done = transactor_.change(call); !done) return tl::unexpected(done.error());
  if (answer && answer->is_allowed) note_hold(request.id, entries);
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
  const auto image = transactor_.fetch({operation});
  if (!image) return tl::unexpected(image.error());
  std::vector<EntryName> entries = {operation};
  const Slot& slot = image->at(operation);
  if (slot.revision == 0) return entries;
  const auto record = decode_record(slot.value, operation.name);
  if (!record) return tl::unexpected(record.error());
  const auto hold = summary_of(record->changes);
  if (!hold) return tl::unexpected(hold.error());
  if (*hold) entries.insert(entries.end(), (*hold)->entries.begin(), (*hold)->entries.end());
  return entries;
}

template <class Use>
auto EtcdStore::act_on_hold(std::string_view id, Use use, Repeatable repeatable)
    -> decltype(use(std::declval<engine::Engine&>(), Instant())) {
  std::optional<std::vector<EntryName>> noted = noted_hold(id);
  for (int look = 0; look < kLooksMax; ++look) {
    auto entries = noted ? Result<std::vector<EntryName>>(*std::exchange(noted, std::nullopt)) : entries_of_hold(id);
    if (!entries) return tl::unexpected(entries.error());
    bool is_another = false;
    auto answer = act(
        *entries,
        [&](engine::Engine& engine, Instant now) -> decltype(use(engine, now)) {
          is_another = !has_all(engine, id, *entries, now);
          if (is_another) return tl::unexpected(core::no_hold(id));
          return use(engine, now);
        },
        repeatable);
    if (!is_another) return answer;
  }
  return tl::unexpected(Error{ErrorCode::kUnavailable, "etcd: the hold changes again and again; try later"});
}

Result<Settlement> EtcdStore::do_commit(const CommitRequest& request) {
  return act_on_hold(request.id, [&](engine::Engine& engine, Instant now) { return engine.commit(request, now); });
}

Result<Settlement> EtcdStore::do_cancel(std::string_view id) {
  return act_on_hold(id, [&](engine::Engine& engine, Instant now) { return engine.cancel(id, now); });
}

Result<Duration> EtcdStore::do_extend(std::string_view id, Duration ttl) {
  return act_on_hold(
      id, [&](engine::Engine& engine, Instant now) { return engine.extend(id, ttl, now); }, Repeatable::kYes);
}

Result<std::optional<HoldInfo>> EtcdStore::do_find_hold(std::string_view id) {
  return ask(entries_of({}, id), [&](engine::Engine& engine, Instant now) -> Result<std::optional<HoldInfo>> {
    return engine.find_hold(id, now);
  });
}

Result<std::vector<std::string>> EtcdStore::do_holds(const MeterName& meter, std::size_t count_max) {
  return ask(entries_of(meter),
             [&](engine::Engine& engine, Instant now) { return engine.holds(charge_of(meter), count_max, now); });
}

Result<std::vector<std::string>> EtcdStore::do_holds_tagged(std::string_view tag) {
  const KeyRange range = range_of(transactor_.prefix(), Space::kTag, tag);
  Image image;
  std::string after;
  for (bool has_more = true; has_more;) {
    auto page = list_after(transactor_, range, after, kPageHolds, Values::kYes);
    if (!page) return tl::unexpected(page.error());
    has_more = page->has_more;
    for (KeyValue& pair : page->pairs) {
      if (auto entry = entry_in(transactor_.prefix(), pair.key)) image[*entry] = {std::move(pair.value), pair.revision};
      after = std::move(pair.key);
    }
  }
  const auto scratch = transactor_.scratch_of(image);
  if (!scratch) return tl::unexpected(scratch.error());
  return (*scratch)->engine().holds_tagged(tag, (*scratch)->now());
}

Result<std::vector<HoldInfo>> EtcdStore::do_oldest_holds(std::size_t count_max) {
  const KeyRange range = range_of(transactor_.prefix(), Space::kOperation);
  struct Found {
    HoldSummary hold;
    EntryName entry;
    Slot slot;
  };
  std::vector<Found> oldest;
  const auto is_older = [](const Found& a, const Found& b) {
    return std::tie(a.hold.made_at, a.hold.serial, a.hold.id) < std::tie(b.hold.made_at, b.hold.serial, b.hold.id);
  };
  std::string after;
  for (bool has_more = true; has_more;) {
    auto page = list_after(transactor_, range, after, kPageHolds, Values::kYes);
    if (!page) return tl::unexpected(page.error());
    has_more = page->has_more;
    for (KeyValue& pair : page->pairs) {
      const auto record = decode_record(pair.value, pair.key);
      if (!record) return tl::unexpected(record.error());
      clock_->not_before(record->written_at);
      const auto hold = summary_of(record->changes);
      if (!hold) return tl::unexpected(hold.error());
      after = pair.key;
      if (!*hold || (*hold)->expires_at <= now()) continue;
      const EntryName entry{Space::kOperation, {}, (*hold)->id};
      oldest.push_back({**hold, entry, {std::move(pair.value), pair.revision}});
    }
    std::sort(oldest.begin(), oldest.end(), is_older);
    if (oldest.size() > count_max) oldest.resize(count_max);
  }
  Image image;
  for (const Found& found : oldest) image[found.entry] = found.slot;
  const auto scratch = transactor_.scratch_of(image);
  if (!scratch) return tl::unexpected(scratch.error());
  std::vector<HoldInfo> infos;
  for (const Found& found : oldest) {
    if (auto info = (*scratch)->engine().find_hold(found.hold.id, (*scratch)->now())) infos.push_back(std::move(*info));
  }
  return infos;
}

}  // namespace mete::store::etcd
