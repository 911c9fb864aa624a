#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "core/refusals.h"
#include "store/etcd/entry.h"
#include "store/etcd/listing.h"

namespace mete::store::etcd {

EtcdStore::EtcdStore(const Url& url, std::unique_ptr<net::TlsClient> tls, const Options& options)
    : clock_(make_store_clock(options.clock, options.clock_step_max)),
      client_(url, std::move(tls)),
      transactor_(client_, *clock_,
                  {.prefix = url.prefix, .timeout = url.timeout, .id_retention = options.id_retention}),
      sweeper_(transactor_) {}

Result<std::unique_ptr<Store>> EtcdStore::open(std::string_view url, const Options& options) {
  const auto parsed = TRY(parse_url(url));
  auto tls = TRY(load_tls(parsed));
  std::unique_ptr<EtcdStore> store(new EtcdStore(parsed, std::move(tls), options));
  TRY(store->perform(core::ListLimits()));
  store->sweeper_.start();
  return store;
}

EtcdStore::~EtcdStore() = default;

namespace {

std::vector<EntryName> each_once(std::vector<EntryName> entries) {
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return entries;
}
std::vector<EntryName> entries_of(const core::ShiftUsage& shifts) {
  std::vector<EntryName> entries;
  for (const Shift& shift : shifts.shifts) add_meter(entries, shifts.limit, shift.key);
  return each_once(std::move(entries));
}
std::vector<EntryName> entries_of(const core::KeysEach& keys) {
  std::vector<EntryName> entries;
  for (const core::KeyStep& step : keys.steps) entries.push_back({Space::kKey, {}, std::string(core::key_of(step))});
  return each_once(std::move(entries));
}
std::vector<EntryName> entries_of(const core::Recall& recall) { return charged_entries({}, recall.take.id); }
std::vector<EntryName> entries_of(const core::FindHold& find) { return charged_entries({}, find.id); }
std::vector<EntryName> entries_of(const core::Give& give) { return charged_entries(give.charges, give.id); }
template <class What>
std::vector<EntryName> entries_of(const What& operation) {
  if constexpr (What::kTraits.home == core::Home::kKey) {
    return {{Space::kKey, {}, std::string(operation.key)}};
  } else {
    std::vector<EntryName> entries;
    add_meter(entries, operation.meter.limit, operation.meter.key);
    return entries;
  }
}

}  // namespace

template <class What>
Result<typename What::Answer> EtcdStore::perform(const What& operation) {
  if constexpr (What::kTraits.home == core::Home::kHold && What::kTraits.effect != core::Effect::kReads) {
    return decide_on_hold(operation);
  } else {
    return decide(entries_of(operation), operation);
  }
}

Result<void> EtcdStore::perform(const core::ShiftUsage& shifts) {
  constexpr std::size_t kTogether = (Transactor::kEntriesMax - 1) / 2;  // a meter and its override; and their limit
  for (std::size_t first = 0; first < shifts.shifts.size(); first += kTogether) {
    const ShiftUsage part = shifts.part(first, kTogether);
    const auto done = decide(entries_of(part), part);
    if (!done) std::fill(part.answers.begin(), part.answers.end(), Result<Shifted>(done.error()));
  }
  return {};
}

Result<void> EtcdStore::perform(const core::KeysEach& keys) {
  constexpr std::size_t kTogether = Transactor::kEntriesMax - 1;
  for (std::size_t first = 0; first < keys.steps.size(); first += kTogether) {
    const core::KeysEach part = keys.part(first, kTogether);
    const auto done = decide(entries_of(part), part);
    if (!done) std::fill(part.answers.begin(), part.answers.end(), Result<core::KeyStepAnswer>(done.error()));
  }
  return {};
}

Result<UsagePage> EtcdStore::perform(const core::ScanUsage& scan) {
  const auto definition = TRY(perform(core::FindLimit{scan.limit}));
  if (!definition) return core::unknown_limit(scan.limit);
  // As many as one transaction reads are as fast as one.
  constexpr std::size_t kTogether = (Transactor::kEntriesMax - 1) / 2;
  const KeyRange range = range_of(transactor_.prefix(), Space::kMeter, scan.limit);
  const auto listed = TRY(list_by_hash(transactor_, range, scan.cursor, std::max(scan.count, kTogether)));
  UsagePage page;
  page.cursor = listed.cursor;
  for (const auto& meters : in_portions(listed.entries, kTogether)) {
    Call call;
    for (const EntryName& meter : meters) add_meter(call.entries, meter.group, meter.name);
    Result<void> told;
    call.decide = [&](engine::Engine& engine, Instant now) {
      for (const EntryName& meter : meters) {
        const auto usage = engine.usage({.limit = meter.group, .key = meter.name, .cost = 0}, now);
        if (!usage) {
          told = usage.error();
        } else if (usage->used + usage->held > 0) {
          page.keys.push_back({meter.name, *usage});
        }
      }
      return false;
    };
    TRY(transactor_.read(call));
    TRY(std::move(told));
  }
  return page;
}

Result<core::KeyPage> EtcdStore::perform(const core::ScanKeys& scan) {
  const auto listed =
      TRY(list_by_hash(transactor_, range_of(transactor_.prefix(), Space::kKey), scan.cursor, scan.count));
  core::KeyPage page = {.cursor = listed.cursor, .keys = {}};
  for (const auto& entries : in_portions(listed.entries, Transactor::kEntriesMax)) {
    const auto image = TRY(transactor_.fetch({entries.begin(), entries.end()}));
    const auto scratch = TRY(transactor_.scratch_of(image));
    std::uint64_t next = 0;
    do {
      core::KeyPage some = scratch->engine().keys().scan(next, entries.size(), scratch->now());
      next = some.cursor;
      std::move(some.keys.begin(), some.keys.end(), std::back_inserter(page.keys));
    } while (next != 0);
  }
  return page;
}

Result<std::size_t> EtcdStore::perform(const core::CountKeys& /*count*/) {
  const KeyRange range = range_of(transactor_.prefix(), Space::kKey);
  const auto answer = TRY(transactor_.run({.reads = {{.key = range.begin, .end = range.end, .count_only = true}}}));
  return answer.reads.front().count;
}

// In one step; what is under way compares keys that are gone then, and is decided anew.
Result<void> EtcdStore::perform(const core::Clear& /*clear*/) {
  if (auto raised = transactor_.raise_clock(); !raised) return raised;
  const KeyRange ranges[] = {range_of(transactor_.prefix(), Space::kMeter),
                             range_of(transactor_.prefix(), Space::kOperation),
                             range_of(transactor_.prefix(), Space::kTag), range_of(transactor_.prefix(), Space::kKey)};
  Txn txn;
  for (const KeyRange& range : ranges) txn.deletes.push_back({.key = range.begin, .end = range.end});
  TRY(transactor_.run(txn));
  return {};
}

Result<StoreStatistics> EtcdStore::perform(const core::ReadStatistics& /*read*/) {
  StoreStatistics statistics = sweeper_.counts();
  statistics.expired_holds = transactor_.expired_holds();
  statistics.id_retention = transactor_.id_retention();
  return statistics;
}

}  // namespace mete::store::etcd
