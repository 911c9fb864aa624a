// Limits come, change and go.

#include <utility>

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

Result<void> EtcdStore::do_define(const Limit& limit) {
  auto defined = act(
      {entry_of(limit.name()), {Space::kNumbers}},
      [&](engine::Engine& engine, Instant now) { return engine.define(limit, now); }, Repeatable::kYes);
  return defined ? forget_revisions(limit) : defined;
}

// Meters of earlier revisions are brought to the present one; then the earlier ones are needed no more: whoever writes
// a meter compares its limit, so none can come back to them.
Result<void> EtcdStore::forget_revisions(const Limit& limit) {
  const EntryName entry = entry_of(limit.name());
  const auto image = transactor_.fetch({entry});
  if (!image) return tl::unexpected(image.error());
  const Slot& slot = image->at(entry);
  const auto revisions = revisions_of(slot, entry);
  if (!revisions) return tl::unexpected(revisions.error());
  if (revisions->changes.size() <= kRevisionsMax) return Done{};
  const KeyRange range = range_of(transactor_.prefix(), Space::kMeter, limit.name());
  constexpr std::size_t kTogether = (Transactor::kEntriesMax - 1) / 2;
  std::string after;
  for (bool has_more = true; has_more;) {
    const auto page = list_after(transactor_, range, after, kTogether, Values::kNo);
    if (!page) return tl::unexpected(page.error());
    has_more = page->has_more;
    std::vector<EntryName> entries = {entry};
    for (const KeyValue& pair : page->pairs) {
      const auto meter = entry_in(transactor_.prefix(), pair.key);
      if (meter) entries.insert(entries.end(), {*meter, {Space::kOverride, meter->group, meter->name}});
      after = pair.key;
    }
    // Restoring them does it.
    auto done = act(std::move(entries), [](engine::Engine&, Instant) -> Result<void> { return Done{}; });
    if (!done) return done;
  }
  const std::string key = key_of(transactor_.prefix(), entry);
  const std::string value = encode(Record{.written_at = clock_->now(),
                                          .revision = revisions->first + revisions->changes.size() - 1,
                                          .changes = revisions->changes.back()});
  const auto done = transactor_.run({.compares = {{key, slot.revision}}, .puts = {{key, value}}});
  if (!done) return tl::unexpected(done.error());
  return Done{};  // if it was redefined meanwhile, whoever did that has come here too
}

Result<bool> EtcdStore::do_drop(std::string_view name) {
  const EntryName entry = entry_of(name);
  const std::string key = key_of(transactor_.prefix(), entry);
  const KeyRange meters = range_of(transactor_.prefix(), Space::kMeter, name);
  const KeyRange overrides = range_of(transactor_.prefix(), Space::kOverride, name);
  for (int race = 0; race < kRacesMax; ++race) {
    const auto image = transactor_.fetch({entry});
    if (!image) return tl::unexpected(image.error());
    const Revision revision = image->at(entry).revision;
    if (revision == 0) return false;
    const auto done = transactor_.run(
        {.compares = {{key, revision}},
         .deletes = {
             {.key = key}, {.key = meters.begin, .end = meters.end}, {.key = overrides.begin, .end = overrides.end}}});
    if (!done) return tl::unexpected(done.error());
    if (!done->has_changed) continue;
    book_.note({{entry, Slot()}});
    return true;
  }
  return tl::unexpected(Error{ErrorCode::kUnavailable, "etcd: the limit changes again and again; try later"});
}

Result<std::optional<Limit>> EtcdStore::do_limit(std::string_view name) {
  const EntryName entry = entry_of(name);
  const auto image = transactor_.fetch({entry});
  if (!image) return tl::unexpected(image.error());
  return definition_of(image->at(entry), entry);
}

Result<std::vector<std::string>> EtcdStore::do_limits() {
  const KeyRange range = range_of(transactor_.prefix(), Space::kLimit);
  std::vector<std::string> names;
  std::string after;
  for (bool has_more = true; has_more;) {
    auto page = list_after(transactor_, range, after, kPageLimits, Values::kYes);
    if (!page) return tl::unexpected(page.error());
    has_more = page->has_more;
    Image image;
    for (KeyValue& pair : page->pairs) {
      after = pair.key;
      const auto entry = entry_in(transactor_.prefix(), pair.key);
      if (!entry) continue;
      names.push_back(entry->name);
      image[*entry] = {std::move(pair.value), pair.revision};
    }
    book_.note(image);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mete::store::etcd
