#include "escrow/escrow_store.h"

#include <ctime>

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/random.h"
#include "base/time_text.h"
#include "base/try.h"
#include "core/reserved.h"

namespace mete::escrow {

namespace {

constexpr auto kWatchEvery = std::chrono::milliseconds(300);
// Longer than anybody asks again under an id who wants to know what has become of it.
constexpr Duration kIdRetentionMin = std::chrono::minutes(10);

// The clock that goes on while the machine sleeps: a share must not outlive its window by a nap.
class BootClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return Instant::from_ns(static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
                            static_cast<std::uint64_t>(time.tv_nsec));
  }
};

// How many keys are looked at to tell what is outstanding.
constexpr int kOutstandingPagesMax = 10;
constexpr std::size_t kOutstandingPage = 1000;

// How often the usage of a meter is looked at, until nothing changes meanwhile.
constexpr int kLooksMax = 5;
constexpr auto kLookPatience = std::chrono::milliseconds(100);

// The whole as this node sees it: what it has spent is used, and what it has not is left. What other nodes have is
// held.
Usage without(Usage usage, const Shares::Look& look) {
  usage.used += look.held_and_spent;
  usage.held = std::max<Amount>(0, usage.held - look.held);
  usage.remaining = std::min(usage.limit, usage.remaining + look.usable);
  return usage;
}

// The same without the shared store, which does not answer.
Usage as_known(const Shares::Look& look) {
  const Amount remaining = std::min(look.capacity, look.usable + look.known_remaining);
  return {.used = look.capacity - remaining,
          .held = 0,
          .remaining = remaining,
          .limit = look.capacity,
          .reset_after = look.is_stock ? Duration::never() : Duration()};
}

// A store's time, for what is kept beside it.
class StoreClock final : public Clock {
 public:
  explicit StoreClock(const store::Store& store) : store_(store) {}
  [[nodiscard]] Instant now() const override { return store_.now(); }

 private:
  const store::Store& store_;
};

const Clock& machine_clock() {
  static const BootClock kClock;
  return kClock;
}

}  // namespace

EscrowStore::EscrowStore(EscrowParts parts)
    : local_(std::move(parts.local)),
      shared_(std::make_unique<store::FailOpen>(std::move(parts.shared),
                                                [this](std::string_view name) {
                                                  const auto definition = definitions_.known(name);
                                                  return definition != nullptr ? std::optional(definition->limit)
                                                                               : std::nullopt;
                                                })),
      clock_(parts.clock != nullptr ? *parts.clock : machine_clock()),
      log_(parts.log),
      registration_(std::move(parts.registration)),
      shares_({.seed = base::random_number()}),
      lots_(*local_),
      definitions_({.local = *local_,
                    .shared = shared_->closed(),
                    .shares = shares_,
                    .clock = clock_,
                    .registration = registration_.get()}),
      counters_({.node = parts.node, .incarnation = parts.incarnation}),
      keys_({.store = *this, .definitions = definitions_, .counters = counters_, .throttles = *local_}),
      share_tag_("mete-share:" + parts.node),
      carrier_(std::make_unique<Carrier>(Carrier::Parts{.shared = shared_->closed(),
                                                        .shares = shares_,
                                                        .lots = lots_,
                                                        .clock = clock_,
                                                        .tag = share_tag_,
                                                        .has_threads = parts.has_threads})),
      counter_clock_(std::make_unique<StoreClock>(*local_)),
      neighbours_(std::move(parts.peers)) {}

Result<std::unique_ptr<EscrowStore>> EscrowStore::open(EscrowParts parts) {
  std::optional<PeerOptions> link = std::move(parts.link);
  const bool has_threads = parts.has_threads;
  std::unique_ptr<EscrowStore> store(new EscrowStore(std::move(parts)));
  TRY(store->check_retention());
  TRY(store->lots_.open());
  TRY(store->definitions_.load());
  if (store->registration_ != nullptr && store->registration_->is_new()) {
    TRY(store->lots_.forget());  // What a backup tells was spent or given back since.
  } else {
    TRY(store->recover_lots());
  }
  TRY(store->stranded_.look(*store->shared_, store->share_tag_, store->clock_.now()));
  if (link) {
    link->clock = store->counter_clock_.get();
    store->links_ = TRY(PeerLinks::start(*link, store->counters_));
  }
  if (has_threads) store->watcher_ = std::thread([raw = store.get()] { raw->watch_until_stopped(); });
  return store;
}

EscrowStore::~EscrowStore() {
  {
    const std::scoped_lock lock(stop_mutex_);
    is_stopping_ = true;
  }
  stop_signal_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  carrier_->stop();
  const SharesStatistics left = shares_.statistics(clock_.now());
  if (left.outstanding == 0 || log_ == nullptr) return;
  log_->warning(
      "not everything could be given back: shares of stocks and of long windows are in the data directory, the "
      "others come back when their windows end",
      {{"units", std::to_string(left.outstanding)}});
}

Result<void> EscrowStore::check_retention() {
  const auto statistics = TRY(shared_->run(core::ReadStatistics()));
  const auto retention = statistics.id_retention;
  if (!retention || *retention >= kIdRetentionMin) return {};
  return base::invalid("the shared store remembers ids for " + base::duration_text(*retention) +
                       " only (id_retention), and nodes need " + base::duration_text(kIdRetentionMin) +
                       ": what is asked again after it has forgotten the id would happen twice");
}

void EscrowStore::watch_until_stopped() {
  std::unique_lock lock(stop_mutex_);
  do {
    lock.unlock();
    watch();
    lock.lock();
  } while (!stop_signal_.wait_for(lock, kWatchEvery, [this] { return is_stopping_; }));
}

void EscrowStore::watch() {
  // A shared store that is away is noticed where it is needed; what is known stays.
  static_cast<void>(definitions_.refresh());
  counters_.sweep(now());
  if (clock_.now() - kept_at_ < kRefreshEvery) return;
  keep_registration();
  kept_at_ = clock_.now();
}

void EscrowStore::tend() {
  carrier_->tend();
  watch();
}

void EscrowStore::keep_registration() {
  const auto remembers = check_retention();
  const bool is_forgetful = !remembers && remembers.error().code == ErrorCode::kInvalid;
  if (is_forgetful && !is_forgetful_ && log_ != nullptr) {
    log_->error("no more shares are drawn", {{"reason", remembers.error().message}});
  }
  if (is_forgetful) carrier_->halt(remembers.error());
  is_forgetful_ = is_forgetful;
  if (registration_ == nullptr) return;
  const auto kept = registration_->keep();
  if (!kept && !carrier_->halted()) {
    if (log_ != nullptr) log_->error("no more shares are drawn", {{"reason", kept.error().message}});
    carrier_->halt(kept.error());
  }
  if (links_ == nullptr) return;
  const auto linked = links_->set_peers(neighbours_.link_to(registration_->nodes(), clock_.now()));
  if (!linked && log_ != nullptr) log_->warning("peers cannot be linked", {{"reason", linked.error().message}});
}

ClusterStatus EscrowStore::status() {
  ClusterStatus status;
  const Instant now = clock_.now();
  status.shares = shares_.statistics(now);
  status.stranded = stranded_.amount(now);
  if (const auto reason = carrier_->halted()) status.halted = reason->message;
  const auto remote = shared_->remote();
  status.is_shared_reachable = !remote || remote->is_reachable;
  if (registration_ == nullptr) return status;
  status.cluster = registration_->cluster();
  status.self = registration_->self();
  const std::vector<PeerStatus> peers = links_ == nullptr ? std::vector<PeerStatus>() : links_->status();
  for (NodeInfo& info : registration_->nodes()) {
    const auto is_it = [&](const PeerStatus& peer) { return peer.address == info.node.address && peer.is_connected; };
    const auto peer = std::find_if(peers.begin(), peers.end(), is_it);
    const bool is_linked = !info.is_self && peer != peers.end();
    status.nodes.push_back({std::move(info), is_linked ? std::optional(peer->lag) : std::nullopt});
  }
  return status;
}

// What a killed predecessor had of stocks and long windows: it is known what was spent of each lot, and the rest goes
// back.
Result<void> EscrowStore::recover_lots() {
  for (LotBook::Entry& entry : TRY(lots_.entries())) {
    carrier_->settle_leftover(std::move(entry.id), entry.spent);
  }
  return {};
}

// --- Definitions -----------------------------------------------------------------------------------------------------

Result<void> EscrowStore::perform(const core::Define& define, store::Execution& /*execution*/) {
  if (!define.limit.name().starts_with(core::kReservedLimits)) return definitions_.define(define.limit);
  return base::invalid(
      "limit name must not start with 'mete.': such names are for what nodes keep for "
      "themselves");
}

Result<bool> EscrowStore::perform(const core::Drop& drop, store::Execution& /*execution*/) {
  if (drop.name.starts_with(core::kReservedLimits)) return false;
  return definitions_.drop(drop.name);
}

Result<std::optional<Limit>> EscrowStore::perform(const core::FindLimit& find, store::Execution& /*execution*/) {
  const auto definition = definitions_.find(find.name);
  if (definition) return (*definition)->limit;
  if (definition.error().code == ErrorCode::kNoLimit) return std::nullopt;
  return definition.error();
}

Result<std::vector<std::string>> EscrowStore::perform(const core::ListLimits& /*list*/,
                                                      store::Execution& /*execution*/) {
  std::vector<std::string> names = definitions_.names();
  std::erase_if(names, [](const std::string& name) { return name.starts_with(core::kReservedLimits); });
  return names;
}

// Of what is held there, all is some node's share, but for what users hold.
Result<std::optional<Amount>> EscrowStore::outstanding(std::string_view limit) {
  const auto definition = definitions_.known(limit);
  if (!definition || !definition->is_drawn()) return std::nullopt;
  const Shares::LimitTotals here = shares_.totals(limit);
  Amount held = 0;
  std::uint64_t cursor = 0;
  for (int page = 0; page < kOutstandingPagesMax; ++page) {
    const auto usages = TRY(shared_->scan(limit, cursor, kOutstandingPage));
    for (const KeyUsage& each : usages.keys) held += each.usage.held;
    cursor = usages.cursor;
    if (cursor == 0) break;
  }
  return std::max<Amount>(0, held - here.held_and_spent);
}

Result<store::Store*> EscrowStore::home_of(std::string_view limit) {
  return definitions_.find(limit).map(
      [this](const auto& definition) { return definition->is_here() ? local_.get() : shared_.get(); });
}

namespace {

// Whether nothing is known there of the hold.
bool is_unknown(const Result<std::optional<HoldInfo>>& answer) { return answer.has_value() && !answer->has_value(); }
template <class Answer>
bool is_unknown(const Result<Answer>& answer) {
  return !answer.has_value() && answer.error().code == ErrorCode::kNoHold;
}

}  // namespace

template <class What>
Result<typename What::Answer> EscrowStore::perform(const What& operation, store::Execution& execution) {
  constexpr core::Traits kTraits = What::kTraits;
  if constexpr (kTraits.home == core::Home::kHold) {
    auto here = local_->run(operation, execution);
    return is_unknown(here) ? shared_->run(operation) : std::move(here);
  } else {
    store::Store* const home = TRY(home_of(operation.meter.limit));
    if constexpr (kTraits.effect != core::Effect::kReads) {
      const Charge charge{operation.meter.limit, operation.meter.key, 0};
      if (home == shared_.get()) give_back({&charge, 1});
    }
    return home->run(operation, execution);
  }
}

// --- Looking and correcting ------------------------------------------------------------------------------------------

// What the node has and has not spent is used there. While an order is under way, the two do not tell of the same time.
Result<Usage> EscrowStore::perform(const core::ReadUsage& read, store::Execution& execution) {
  const auto home = TRY(home_of(read.meter.limit));
  if (home != shared_.get()) return home->run(read, execution);
  for (int attempt = 0;; ++attempt) {
    const auto before = shares_.look(read.meter, clock_.now());
    if (before && before->has_order_under_way && attempt < kLooksMax) {
      shares_.wait_for_change(read.meter, before->change, kLookPatience);
      continue;
    }
    auto usage = shared_->run(read);
    const auto look = shares_.look(read.meter, clock_.now());
    if (!look) return usage;
    if (!usage) return usage.error().code == ErrorCode::kUnavailable ? as_known(*look) : usage;
    const bool is_same_time = !look->has_order_under_way && (!before || before->change == look->change);
    if (is_same_time || attempt >= kLooksMax) return without(*usage, *look);
  }
}

Result<void> EscrowStore::perform(const core::ShiftUsage& shifts, store::Execution& execution) {
  store::Store* const home = TRY(home_of(shifts.limit));
  if (home != shared_.get()) return home->run(shifts, execution);
  for (const store::Shift& each : shifts.shifts) {
    const Charge charge{shifts.limit, each.key, 0};
    give_back({&charge, 1});
  }
  return home->run(shifts);
}

Result<UsagePage> EscrowStore::perform(const core::ScanUsage& scan, store::Execution& execution) {
  store::Store* const home = TRY(home_of(scan.limit));
  if (home != shared_.get()) return home->run(scan, execution);
  auto page = TRY(home->run(scan));
  std::erase_if(page.keys, [&](KeyUsage& each) {
    const auto look = shares_.look({scan.limit, each.key}, clock_.now());
    if (!look) return false;
    each.usage = without(each.usage, *look);
    return each.usage.used + each.usage.held == 0;  // Drawn, and none of it spent.
  });
  return page;
}

Result<std::optional<core::Verdict>> EscrowStore::perform(const core::Recall& recall, store::Execution& execution) {
  const auto parts = split(recall.take.charges);
  if (!parts) {
    if (parts.error().code != ErrorCode::kNoLimit) return parts.error();
    auto here = TRY(local_->run(recall, execution));  // The answer outlives its limit.
    if (here) return here;
    return shared_->run(recall);
  }
  const bool is_all_here = parts->drawn.empty() && parts->there.empty();
  if (is_all_here) return local_->run(recall, execution);
  if (parts->here.empty()) return shared_->run(recall);
  return in_parts(*parts, execution, [&](store::Coordinator& whole) { return whole.recall(recall.take); });
}

// What was spent of a share is held there until it is settled, and only what is used can be given back.
Result<Settlement> EscrowStore::perform(const core::Give& give, store::Execution& execution) {
  const auto parts = split(give.charges);
  if (!parts) return where_remembered(parts.error(), give, execution);
  if (parts->drawn.empty() && parts->there.empty()) return local_->run(give, execution);
  if (!parts->here.empty()) {
    return in_parts(*parts, execution, [&](store::Coordinator& whole) { return whole.give(give); });
  }
  give_back(parts->drawn.charges);
  return shared_->run(give);
}

// --- Holds -----------------------------------------------------------------------------------------------------------

Result<core::Verdict> EscrowStore::perform(const core::Hold& hold, store::Execution& execution) {
  const auto parts = split(hold.charges);
  if (!parts) return where_remembered(parts.error(), hold, execution);
  if (parts->drawn.empty() && parts->there.empty()) return local_->run(hold, execution);
  if (!parts->here.empty()) {
    return base::invalid(
        "charges: a hold is of limits of scope node, or of limits of scope shared and "
        "escrow, not of both: make two holds");
  }
  // What is missing there may be here; a denial of an id is final, so this comes first.
  give_back(parts->drawn.charges);
  return shared_->hold(hold);
}

Result<std::vector<std::string>> EscrowStore::perform(const core::ListTagged& list, store::Execution& execution) {
  auto here = TRY(local_->run(list, execution));
  const auto there = TRY(shared_->run(list));
  here.insert(here.end(), there.begin(), there.end());
  std::sort(here.begin(), here.end());
  return here;
}

Result<std::vector<HoldInfo>> EscrowStore::perform(const core::OldestHolds& oldest, store::Execution& execution) {
  auto here = TRY(local_->run(oldest, execution));
  auto there = TRY(shared_->run(oldest));
  std::move(there.begin(), there.end(), std::back_inserter(here));
  std::stable_sort(here.begin(), here.end(), [](const HoldInfo& a, const HoldInfo& b) { return a.age > b.age; });
  if (here.size() > oldest.count_max) here.resize(oldest.count_max);
  return here;
}

// --- All of it -------------------------------------------------------------------------------------------------------

// What is shared is not this node's to forget.
Result<void> EscrowStore::perform(const core::Clear& clear, store::Execution& execution) {
  for (const Order& order : shares_.settle_all(clock_.now())) carrier_->carry_out(order);
  keys_.clear();
  return local_->run(clear, execution);
}

Result<store::StoreStatistics> EscrowStore::perform(const core::ReadStatistics& /*read*/,
                                                    store::Execution& /*execution*/) {
  store::StoreStatistics statistics = local_->statistics();
  statistics.limits = definitions_.names().size();
  statistics.unrecorded_admissions += shared_->admissions();
  return statistics;
}

}  // namespace mete::escrow
