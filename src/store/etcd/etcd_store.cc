#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <utility>

#include "core/refusals.h"
#include "store/etcd/entry.h"
#include "store/etcd/listing.h"

namespace mete::store::etcd {

EtcdStore::EtcdStore(const Url& url, std::unique_ptr<net::TlsClient> tls, const Options& options)
    : clock_(make_store_clock(options.clock)),
      client_(url, std::move(tls)),
      transactor_(client_, *clock_, book_,
                  {.prefix = url.prefix, .timeout = url.timeout, .id_retention = options.id_retention}),
      keys_(transactor_),
      sweeper_(transactor_) {}

Result<std::unique_ptr<Store>> EtcdStore::open(std::string_view url, const Options& options) {
  const auto parsed = parse_url(url);
  if (!parsed) return tl::unexpected(parsed.error());
  auto tls = load_tls(*parsed);
  if (!tls) return tl::unexpected(tls.error());
  std::unique_ptr<EtcdStore> store(new EtcdStore(*parsed, std::move(*tls), options));
  if (auto known = store->do_limits(); !known) return tl::unexpected(known.error());
  store->sweeper_.start();
  return store;
}

EtcdStore::~EtcdStore() = default;

Result<Usage> EtcdStore::do_usage(const MeterName& meter) {
  return ask(entries_of(meter),
             [&](engine::Engine& engine, Instant now) { return engine.usage(charge_of(meter), now); });
}

Result<Reconciliation> EtcdStore::do_reconcile(const MeterName& meter, Amount used) {
  return act(entries_of(meter),
             [&](engine::Engine& engine, Instant now) { return engine.reconcile(charge_of(meter), used, now); });
}

void EtcdStore::do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  constexpr std::size_t kTogether = (Transactor::kEntriesMax - 1) / 2;  // a meter and its override; and their limit
  for (std::size_t first = 0; first < request.shifts.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, request.shifts.size() - first);
    std::vector<Charge> charges;
    for (const Shift& shift : request.shifts.subspan(first, count)) {
      charges.push_back({.limit = request.limit, .key = shift.key, .cost = shift.change});
    }
    const auto shift_all = [&](engine::Engine& engine, Instant now) -> Result<void> {
      for (std::size_t i = 0; i < count; ++i) answers[first + i] = engine.shift(charges[i], request.since, now);
      return Done{};
    };
    auto entries = entries_of(charges);
    std::sort(entries.begin(), entries.end());
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    if (const auto done = act(std::move(entries), shift_all); !done) {
      std::fill_n(answers.begin() + static_cast<std::ptrdiff_t>(first), count, tl::unexpected(done.error()));
    }
  }
}

Result<void> EtcdStore::do_set_override(const MeterName& meter, std::optional<Amount> amount) {
  return act(
      entries_of(meter),
      [&](engine::Engine& engine, Instant now) { return engine.set_override(charge_of(meter), amount, now); },
      Repeatable::kYes);
}

Result<std::optional<Amount>> EtcdStore::do_override_of(const MeterName& meter) {
  return ask(entries_of(meter),
             [&](engine::Engine& engine, Instant now) { return engine.override_of(charge_of(meter), now); });
}

Result<UsagePage> EtcdStore::do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) {
  const auto definition = do_limit(limit);
  if (!definition) return tl::unexpected(definition.error());
  if (!*definition) return tl::unexpected(core::unknown_limit(limit));
  // As many as one transaction reads are as fast as one.
  constexpr std::size_t kTogether = (Transactor::kEntriesMax - 1) / 2;
  const KeyRange range = range_of(transactor_.prefix(), Space::kMeter, limit);
  const auto listed = list_by_hash(transactor_, range, cursor, std::max(count, kTogether));
  if (!listed) return tl::unexpected(listed.error());
  UsagePage page;
  page.cursor = listed->cursor;
  for (const auto& meters : in_portions(listed->entries, kTogether)) {
    std::vector<EntryName> entries;
    for (const EntryName& meter : meters) add_meter(entries, meter.group, meter.name);
    const auto told = ask(std::move(entries), [&](engine::Engine& engine, Instant now) -> Result<void> {
      for (const EntryName& meter : meters) {
        const auto usage = engine.usage({.limit = meter.group, .key = meter.name, .cost = 0}, now);
        if (!usage) return tl::unexpected(usage.error());
        if (usage->used + usage->held > 0) page.keys.push_back({meter.name, *usage});
      }
      return Done{};
    });
    if (!told) return tl::unexpected(told.error());
  }
  return page;
}

// In one step; what is under way compares keys that are gone then, and is decided anew.
Result<void> EtcdStore::do_clear() {
  if (auto raised = transactor_.raise_clock(); !raised) return raised;
  const KeyRange ranges[] = {range_of(transactor_.prefix(), Space::kMeter),
                             range_of(transactor_.prefix(), Space::kOperation),
                             range_of(transactor_.prefix(), Space::kTag), range_of(transactor_.prefix(), Space::kKey)};
  Txn txn;
  for (const KeyRange& range : ranges) txn.deletes.push_back({.key = range.begin, .end = range.end});
  if (const auto done = transactor_.run(txn); !done) return tl::unexpected(done.error());
  return Done{};
}

StoreStatistics EtcdStore::do_statistics() {
  StoreStatistics statistics = sweeper_.counts();
  statistics.unrecorded_admissions = unrecorded_admissions_.load(std::memory_order_relaxed);
  return statistics;
}

}  // namespace mete::store::etcd
