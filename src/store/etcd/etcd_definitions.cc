// Limits come, change and go.

#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "store/etcd/entry.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/listing.h"

namespace mete::store::etcd {

namespace {

constexpr std::size_t kRevisionsMax = 16;  // of one limit: each operation reads them all
constexpr std::size_t kPageLimits = 500;
constexpr int kRacesMax = 16;

EntryName entry_of(std::string_view limit) { return {Space::kLimit, {}, std::string(limit)}; }

}  // namespace

Result<void> EtcdStore::perform(const core::Define& define) {
  TRY(decide({entry_of(define.limit.name()), {Space::kNumbers}}, define));
  return forget_revisions(define.limit);
}

// Meters of earlier revisions are brought to the present one; then the earlier ones are needed no more: whoever writes
// a meter compares its limit, so none can come back to them.
Result<void> EtcdStore::forget_revisions(const Limit& limit) {
  const EntryName entry = entry_of(limit.name());
  const auto image = TRY(transactor_.fetch({entry}));
  const Slot& slot = image.at(entry);
  const auto revisions = TRY(revisions_of(slot, entry));
  if (revisions.changes.size() <= kRevisionsMax) return {};
  const KeyRange range = range_of(transactor_.prefix(), Space::kMeter, limit.name());
  constexpr std::size_t kTogether = (Transactor::kEntriesMax - 1) / 2;
  std::string after;
  for (bool has_more = true; has_more;) {
    const auto page = TRY(list_after(transactor_, range, after, kTogether, Values::kNo));
    has_more = page.has_more;
    std::vector<EntryName> entries = {entry};
    for (const KeyValue& pair : page.pairs) {
      const auto meter = entry_in(transactor_.prefix(), pair.key);
      if (meter) entries.insert(entries.end(), {*meter, {Space::kOverride, meter->group, meter->name}});
      after = pair.key;
    }
    // Restoring them does it.
    Call call = {.entries = std::move(entries), .decide = [](engine::Engine&, Instant) { return true; }};
    TRY(transactor_.change(call));
  }
  const std::string key = key_of(transactor_.prefix(), entry);
  const std::string value = encode(Record{.written_at = clock_->now(),
                                          .revision = revisions.first + revisions.changes.size() - 1,
                                          .changes = revisions.changes.back()});
  TRY(transactor_.run({.compares = {{key, slot.revision}}, .puts = {{key, value}}}));
  return {};  // if it was redefined meanwhile, whoever did that has come here too
}

Result<bool> EtcdStore::perform(const core::Drop& drop) {
  const EntryName entry = entry_of(drop.name);
  const std::string key = key_of(transactor_.prefix(), entry);
  const KeyRange meters = range_of(transactor_.prefix(), Space::kMeter, drop.name);
  const KeyRange overrides = range_of(transactor_.prefix(), Space::kOverride, drop.name);
  for (int race = 0; race < kRacesMax; ++race) {
    const auto image = TRY(transactor_.fetch({entry}));
    const Revision revision = image.at(entry).revision;
    if (revision == 0) return false;
    const auto done = TRY(transactor_.run(
        {.compares = {{key, revision}},
         .deletes = {
             {.key = key}, {.key = meters.begin, .end = meters.end}, {.key = overrides.begin, .end = overrides.end}}}));
    if (done.has_changed) return true;
  }
  return base::unavailable("etcd: the limit changes again and again; try later");
}

Result<std::optional<Limit>> EtcdStore::perform(const core::FindLimit& find) {
  const EntryName entry = entry_of(find.name);
  const auto image = TRY(transactor_.fetch({entry}));
  return definition_of(image.at(entry), entry);
}

Result<std::vector<std::string>> EtcdStore::perform(const core::ListLimits& /*list*/) {
  const KeyRange range = range_of(transactor_.prefix(), Space::kLimit);
  std::vector<std::string> names;
  std::string after;
  for (bool has_more = true; has_more;) {
    auto page = TRY(list_after(transactor_, range, after, kPageLimits, Values::kNo));
    has_more = page.has_more;
    for (const KeyValue& pair : page.pairs) {
      after = pair.key;
      const auto entry = entry_in(transactor_.prefix(), pair.key);
      if (entry) names.push_back(entry->name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mete::store::etcd
