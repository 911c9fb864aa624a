#include "escrow/escrow_store.h"

#include <ctime>

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace mete::escrow {

namespace {

constexpr auto kWatchEvery = std::chrono::milliseconds(300);
// An id is remembered for a day at least: what was given back longer ago cannot be given back again without risk.
constexpr Duration kReturnAgeMax = std::chrono::hours(23);

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

// Tags of holds that nodes make for themselves begin so.
constexpr std::string_view kReservedTag = "mete-";

// How many keys are looked at to tell what is outstanding.
constexpr int kOutstandingPagesMax = 10;
constexpr std::size_t kOutstandingPage = 1000;

// How often the usage of a meter is looked at, until nothing changes meanwhile.
constexpr int kLooksMax = 5;
constexpr auto kLookPatience = std::chrono::milliseconds(100);

// The whole as this node sees it: what it has spent is used, and what it has not is left. What other nodes have is
// held.
Usage without(Usage usage, const Shares::Look& look) {
  const Amount change = look.is_stock ? -look.usable : look.held_and_spent;
  usage.used = std::max<Amount>(0, usage.used + change);
  usage.held = std::max<Amount>(0, usage.held - look.held);
  usage.remaining = std::min(usage.limit, usage.remaining + look.usable);
  return usage;
}

// The same without the shared store, which does not answer.
Usage as_known(const Shares::Look& look) {
  const Amount remaining = std::min(look.capacity, look.usable + look.known_remaining);
  return {
      .used = look.capacity - remaining, .held = 0, .remaining = remaining, .limit = look.capacity, .reset_after = {}};
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
  static const BootClock clock;
  return clock;
}

}  // namespace

EscrowStore::EscrowStore(EscrowParts parts)
    : local_(std::move(parts.local)),
      shared_(std::move(parts.shared)),
      clock_(parts.clock != nullptr ? *parts.clock : machine_clock()),
      log_(parts.log),
      registration_(std::move(parts.registration)),
      shares_({.node = parts.node, .incarnation = parts.incarnation, .seed = base::random_number()}),
      book_(*local_),
      definitions_({.local = *local_,
                    .shared = *shared_,
                    .shares = shares_,
                    .book = book_,
                    .clock = clock_,
                    .registration = registration_.get()}),
      counters_({.node = parts.node, .incarnation = parts.incarnation}),
      keys_({.store = *this, .definitions = definitions_, .counters = counters_, .throttles = *local_->keys()}),
      share_tag_("mete-share:" + parts.node),
      carrier_(std::make_unique<Carrier>(
          Carrier::Parts{.shared = *shared_, .shares = shares_, .book = book_, .clock = clock_, .tag = share_tag_})),
      counter_clock_(std::make_unique<StoreClock>(*local_)),
      neighbours_(std::move(parts.peers)) {}

Result<std::unique_ptr<EscrowStore>> EscrowStore::open(EscrowParts parts) {
  std::optional<PeerOptions> link = std::move(parts.link);
  std::unique_ptr<EscrowStore> store(new EscrowStore(std::move(parts)));
  if (auto ok = store->definitions_.load(); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = store->recover_stocks(); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = store->stranded_.look(*store->shared_, store->share_tag_, store->clock_.now()); !ok) {
    return tl::make_unexpected(ok.error());
  }
  if (link) {
    link->clock = store->counter_clock_.get();
    auto links = PeerLinks::start(*link, store->counters_);
    if (!links) return tl::make_unexpected(links.error());
    store->links_ = std::move(*links);
  }
  store->watcher_ = std::thread([raw = store.get()] { raw->watch_until_stopped(); });
  return store;
}

EscrowStore::~EscrowStore() {
  {
    const std::scoped_lock lock(stop_mutex_);
    is_stopping_ = true;
  }
  stop_signal_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void EscrowStore::watch_until_stopped() {
  std::unique_lock lock(stop_mutex_);
  Instant kept_at;
  do {
    lock.unlock();
    // A shared store that is away is noticed where it is needed; what is known stays.
    static_cast<void>(definitions_.refresh());
    counters_.sweep(now());
    if (clock_.now() - kept_at >= kRefreshEvery) {
      keep_registration();
      kept_at = clock_.now();
    }
    lock.lock();
  } while (!stop_signal_.wait_for(lock, kWatchEvery, [this] { return is_stopping_; }));
}

void EscrowStore::keep_registration() {
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

// What was under way when the node was killed is brought to its end; then what it has is its share again. The books of
// a backup tell of what was spent since: they are not believed, and what they had stays used.
Result<void> EscrowStore::recover_stocks() {
  if (registration_ != nullptr && registration_->is_new()) return forget_stocks();
  const auto open = book_.open_orders();
  if (!open) return tl::make_unexpected(open.error());
  for (const StockBook::Open& each : *open) {
    const bool is_too_old = each.order.kind == Order::Kind::kSettle && each.age >= kReturnAgeMax;
    if (is_too_old) {
      if (auto ok = book_.end_return(each.order); !ok) return ok;
    } else {
      carrier_->carry_out(each.order);
    }
  }
  for (const std::string& name : definitions_.names()) {
    const auto definition = definitions_.known(name);
    if (!definition || !definition->is_drawn() || definition->limit.kind() != Kind::kStock) continue;
    const auto entries = book_.shares_of(name);
    if (!entries) return tl::make_unexpected(entries.error());
    for (const StockBook::Entry& entry : *entries) shares_.restore({name, entry.key}, definition->terms, entry.units);
  }
  return {};
}

Result<void> EscrowStore::forget_stocks() {
  const auto names = local_->limits();
  if (!names) return tl::make_unexpected(names.error());
  for (const std::string& name : *names) {
    if (!name.starts_with(StockBook::kSharePrefix)) continue;
    const std::string limit = name.substr(StockBook::kSharePrefix.size());
    if (auto ok = book_.close(limit); !ok) return ok;
    if (auto ok = book_.open(limit); !ok) return ok;
  }
  return {};
}

// --- Definitions -----------------------------------------------------------------------------------------------------

Result<void> EscrowStore::do_define(const Limit& limit) {
  if (!limit.name().starts_with(kReservedPrefix)) return definitions_.define(limit);
  return tl::make_unexpected(Error{ErrorCode::kInvalid,
                                   "limit name must not start with 'mete.': such names are for what nodes keep for "
                                   "themselves"});
}

Result<bool> EscrowStore::do_drop(std::string_view name) {
  if (name.starts_with(kReservedPrefix)) return false;
  return definitions_.drop(name);
}

Result<std::optional<Limit>> EscrowStore::do_limit(std::string_view name) {
  const auto definition = definitions_.find(name);
  if (definition) return (*definition)->limit;
  if (definition.error().code == ErrorCode::kNoLimit) return std::nullopt;
  return tl::make_unexpected(definition.error());
}

Result<std::vector<std::string>> EscrowStore::do_limits() {
  std::vector<std::string> names = definitions_.names();
  std::erase_if(names, [](const std::string& name) { return name.starts_with(kReservedPrefix); });
  return names;
}

// Of what is held there, all is some node's share, but for what users hold; of a stock, which is taken, this node knows
// its own.
Result<std::optional<Amount>> EscrowStore::outstanding(std::string_view limit) {
  const auto definition = definitions_.known(limit);
  if (!definition || !definition->is_drawn()) return std::nullopt;
  const Shares::LimitTotals here = shares_.totals(limit);
  if (definition->limit.kind() == Kind::kStock) return here.outstanding;
  Amount held = 0;
  std::uint64_t cursor = 0;
  for (int page = 0; page < kOutstandingPagesMax; ++page) {
    const auto usages = shared_->scan(limit, cursor, kOutstandingPage);
    if (!usages) return tl::make_unexpected(usages.error());
    for (const KeyUsage& each : usages->keys) held += each.usage.held;
    cursor = usages->cursor;
    if (cursor == 0) break;
  }
  return std::max<Amount>(0, held - here.held_and_spent);
}

Result<store::Store*> EscrowStore::home_of(std::string_view limit) {
  return definitions_.find(limit).map(
      [this](const auto& definition) { return definition->is_here() ? local_.get() : shared_.get(); });
}

Result<store::Store*> EscrowStore::settled_home_of(const store::MeterName& meter) {
  auto home = home_of(meter.limit);
  if (home && *home == shared_.get()) {
    const Charge charge{meter.limit, meter.key, 0};
    give_back({&charge, 1});
  }
  return home;
}

Result<void> EscrowStore::do_set_override(const store::MeterName& meter, std::optional<Amount> amount) {
  const auto home = settled_home_of(meter);
  if (!home) return tl::make_unexpected(home.error());
  return (*home)->set_override(meter, amount);
}

Result<std::optional<Amount>> EscrowStore::do_override_of(const store::MeterName& meter) {
  const auto home = home_of(meter.limit);
  if (!home) return tl::make_unexpected(home.error());
  return (*home)->override_of(meter);
}

// --- Looking and correcting ------------------------------------------------------------------------------------------

// What the node has and has not spent is used there. While an order is under way, the two do not tell of the same time.
Result<Usage> EscrowStore::do_usage(const store::MeterName& meter) {
  const auto home = home_of(meter.limit);
  if (!home) return tl::make_unexpected(home.error());
  if (*home != shared_.get()) return (*home)->usage(meter);
  for (int attempt = 0;; ++attempt) {
    const auto before = shares_.look(meter, clock_.now());
    if (before && before->has_order_under_way && attempt < kLooksMax) {
      shares_.wait_for_change(meter, before->change, kLookPatience);
      continue;
    }
    auto usage = shared_->usage(meter);
    const auto look = shares_.look(meter, clock_.now());
    if (!look) return usage;
    if (!usage) return usage.error().code == ErrorCode::kUnavailable ? as_known(*look) : usage;
    const bool is_same_time = !look->has_order_under_way && (!before || before->change == look->change);
    if (is_same_time || attempt >= kLooksMax) return without(*usage, *look);
  }
}

Result<Reconciliation> EscrowStore::do_reconcile(const store::MeterName& meter, Amount used) {
  const auto home = settled_home_of(meter);
  if (!home) return tl::make_unexpected(home.error());
  return (*home)->reconcile(meter, used);
}

void EscrowStore::do_shift(const store::ShiftRequest& request, std::span<Result<store::Shifted>> answers) {
  const auto home = home_of(request.limit);
  if (!home) {
    std::fill(answers.begin(), answers.end(), tl::make_unexpected(home.error()));
    return;
  }
  (*home)->shift(request, answers);
}

Result<UsagePage> EscrowStore::do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) {
  const auto home = home_of(limit);
  if (!home) return tl::make_unexpected(home.error());
  return (*home)->scan(limit, cursor, count);
}

Result<std::optional<core::Verdict>> EscrowStore::do_recall(const store::TakeRequest& request) {
  const auto parts = split(request.charges);
  if (!parts) return tl::make_unexpected(parts.error());
  const bool is_all_here = parts->drawn.empty() && parts->there.empty();
  if (is_all_here) return local_->recall(request);
  if (parts->here.empty()) return shared_->recall(request);
  return std::nullopt;  // In parts; the parts know.
}

// What was spent of a share is held there until it is settled, and only what is used can be given back.
Result<Settlement> EscrowStore::do_give(std::span<const Charge> charges, std::string_view id) {
  const auto parts = split(charges);
  if (!parts) return tl::make_unexpected(parts.error());
  std::vector<Charge> there = parts->there.charges;
  there.insert(there.end(), parts->drawn.charges.begin(), parts->drawn.charges.end());
  if (there.empty()) return local_->give(charges, id);
  give_back(parts->drawn.charges);
  auto given = shared_->give(there, id);
  if (!given || parts->here.empty()) return given;
  const auto here = local_->give(parts->here.charges, id);
  if (!here) return here;
  Settlement whole = here->remaining < given->remaining ? *here : *given;
  whole.amount = here->amount + given->amount;
  return whole;
}

// --- Holds -----------------------------------------------------------------------------------------------------------

Result<core::Verdict> EscrowStore::do_hold(const store::HoldRequest& request) {
  const auto parts = split(request.charges);
  if (!parts) return tl::make_unexpected(parts.error());
  if (parts->drawn.empty() && parts->there.empty()) return local_->hold(request);
  if (!parts->here.empty()) {
    return tl::make_unexpected(Error{ErrorCode::kInvalid,
                                     "charges: a hold is of limits of scope node, or of limits of scope shared and "
                                     "escrow, not of both: make two holds"});
  }
  // What is missing there may be here; a denial of an id is final, so this comes first.
  give_back(parts->drawn.charges);
  return shared_->hold(request);
}

template <class Do>
auto EscrowStore::where_held(Do act) -> decltype(act(std::declval<store::Store&>())) {
  auto answer = act(*local_);
  if (answer || answer.error().code != ErrorCode::kNoHold) return answer;
  return act(*shared_);
}

Result<Settlement> EscrowStore::do_commit(const store::CommitRequest& request) {
  return where_held([&](store::Store& store) { return store.commit(request); });
}

Result<Settlement> EscrowStore::do_cancel(std::string_view id) {
  return where_held([&](store::Store& store) { return store.cancel(id); });
}

Result<Duration> EscrowStore::do_extend(std::string_view id, Duration ttl) {
  return where_held([&](store::Store& store) { return store.extend(id, ttl); });
}

Result<std::optional<HoldInfo>> EscrowStore::do_find_hold(std::string_view id) {
  auto here = local_->find_hold(id);
  if (!here || *here) return here;
  return shared_->find_hold(id);
}

Result<std::vector<std::string>> EscrowStore::do_holds(const store::MeterName& meter, std::size_t count_max) {
  const auto home = home_of(meter.limit);
  if (!home) return tl::make_unexpected(home.error());
  return (*home)->holds(meter, count_max);
}

Result<std::vector<std::string>> EscrowStore::do_holds_tagged(std::string_view tag) {
  auto here = local_->holds_tagged(tag);
  if (!here) return here;
  const auto there = shared_->holds_tagged(tag);
  if (!there) return there;
  here->insert(here->end(), there->begin(), there->end());
  std::sort(here->begin(), here->end());
  return here;
}

// Without those that nodes make for themselves: shares, and signs of life.
Result<std::vector<HoldInfo>> EscrowStore::do_oldest_holds(std::size_t count_max) {
  auto here = local_->oldest_holds(count_max);
  if (!here) return here;
  auto there = shared_->oldest_holds(count_max);
  if (!there) return there;
  std::move(there->begin(), there->end(), std::back_inserter(*here));
  std::erase_if(*here, [](const HoldInfo& hold) { return hold.tag.starts_with(kReservedTag); });
  std::stable_sort(here->begin(), here->end(), [](const HoldInfo& a, const HoldInfo& b) { return a.age > b.age; });
  if (here->size() > count_max) here->resize(count_max);
  return here;
}

// --- All of it -------------------------------------------------------------------------------------------------------

// What is shared is not this node's to forget.
Result<void> EscrowStore::do_clear() {
  for (const Order& order : shares_.settle_all(clock_.now())) carrier_->carry_out(order);
  keys_.clear();
  return local_->clear();
}

store::StoreStatistics EscrowStore::do_statistics() {
  store::StoreStatistics statistics = local_->statistics();
  statistics.limits = definitions_.names().size();
  statistics.unrecorded_admissions += open_admissions_.load(std::memory_order_relaxed);
  return statistics;
}

}  // namespace mete::escrow
