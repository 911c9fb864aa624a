#include "escrow/escrow_store.h"

#include <ctime>

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/random.h"
#include "base/try.h"
#include "core/reserved.h"
#include "escrow/nodes/names.h"
#include "escrow/others/other_nodes.h"

namespace mete::escrow {

namespace {

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

constexpr Duration kRefusalToldEvery = std::chrono::minutes(1);

// How many keys of the shared store are looked at for counters.
constexpr int kKeyPagesMax = 10;
constexpr std::size_t kKeyPage = 100;

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

EscrowStore::EscrowStore(EscrowParts parts, const Writer& self)
    : local_(std::move(parts.local)),
      shared_(std::make_unique<store::FailOpen>(
          std::move(parts.shared),
          store::FailOpen::Settings{.local_share_percent = parts.local_share_percent,
                                    .find = [this](std::string_view name) -> std::optional<Limit> {
                                      const auto definition = definitions_.known(name);
                                      if (definition == nullptr) return std::nullopt;
                                      return definition->limit;
                                    },
                                    .log = parts.log})),
      clock_(parts.clock != nullptr ? *parts.clock : machine_clock()),
      log_(parts.log),
      registration_(std::move(parts.registration)),
      shares_({.seed = base::random_number()}),
      lots_(*local_),
      definitions_({.local = *local_,
                    .shared = shared_->closed(),
                    .shares = shares_,
                    .clock = clock_,
                    .registration = registration_.get(),
                    .for_each = [this](std::size_t count, const auto& act) { carrier_->for_each(count, act); }}),
      counters_(self),
      keys_({.store = *this, .definitions = definitions_, .counters = counters_, .throttles = *local_}),
      share_tag_(Retirement::tag_of(parts.node)),
      carrier_(std::make_unique<Carrier>(Carrier::Parts{
          .shared = shared_->closed(),
          .shares = shares_,
          .lots = lots_,
          .clock = clock_,
          .tag = share_tag_,
          .confirm = registration_ == nullptr ? std::function<Result<void>()>() : [this] { return confirm_shared(); },
          .has_threads = parts.has_threads,
          .cutoff = parts.has_threads ? &cutoff_ : nullptr})),
      retirement_(shared_->closed(), clock_),
      counter_clock_(std::make_unique<StoreClock>(*local_)),
      others_(std::move(parts.others)),
      releases_(others_.get(), clock_) {}

Result<std::unique_ptr<EscrowStore>> EscrowStore::open(EscrowParts parts) {
  const bool has_threads = parts.has_threads;
  const auto credentials = std::make_shared<const PeerCredentials>(std::move(parts.credentials));
  CounterExchange::Parts exchange = {.log = parts.log, .credentials = credentials};
  Writer self{.node = parts.node, .incarnation = parts.incarnation};
  if (!parts.directory.empty()) {
    const std::string identity = parts.registration == nullptr ? "" : parts.registration->self().identity;
    exchange.file = TRY(CounterFile::open({.files = *parts.files, .directory = parts.directory, .identity = identity},
                                          std::move(self)));
    self = exchange.file->self();
  }
  if (parts.registration != nullptr) {
    exchange.cluster = parts.registration->cluster();
    const bool asks_nodes = has_threads && parts.others == nullptr;
    if (asks_nodes) {
      parts.others =
          std::make_unique<OtherNodes>(OtherNodes::Parts{.cluster = exchange.cluster, .credentials = credentials});
    }
  }
  std::unique_ptr<EscrowStore> store(new EscrowStore(std::move(parts), self));
  TRY(store->check_retention());
  TRY(store->lots_.open());
  TRY(store->definitions_.load());
  if (store->registration_ != nullptr && store->registration_->is_new()) {
    TRY(store->lots_.forget());  // What a backup tells was spent or given back since.
  } else {
    TRY(store->recover_lots());
  }
  if (store->registration_ != nullptr && store->registration_->is_new()) store->tell_of_keys();
  TRY(store->stranded_.look(*store->shared_, store->share_tag_, store->clock_.now()));
  if (exchange.file != nullptr) {
    TRY(exchange.file->load_into(store->counters_));
  }
  if (has_threads) {
    exchange.counters = &store->counters_;
    exchange.clock = store->counter_clock_.get();
    store->exchange_ = std::make_unique<CounterExchange>(std::move(exchange));
  }
  if (has_threads) {
    store->watcher_ = std::thread([raw = store.get()] { raw->repeat_until_stopped(&EscrowStore::watch); });
    store->keeper_ = std::thread([raw = store.get()] { raw->repeat_until_stopped(&EscrowStore::look); });
  }
  return store;
}

EscrowStore::~EscrowStore() {
  {
    const std::scoped_lock lock(stop_mutex_);
    is_stopping_ = true;
  }
  stop_signal_.notify_all();
  carrier_->begin_stop();
  stopping_.emplace(cutoff_);
  definitions_.stop();
  if (exchange_ != nullptr) exchange_->stop_soon();
  if (watcher_.joinable()) watcher_.join();
  if (keeper_.joinable()) keeper_.join();
  carrier_->stop();
  const SharesStatistics left = shares_.statistics(clock_.now());
  if (left.outstanding == 0 || log_ == nullptr) return;
  log_->warning(
      "not everything could be given back: shares of stocks and of long windows are in the data directory, the "
      "others come back when their windows end",
      {{"units", std::to_string(left.outstanding)}});
}

Result<Writer> EscrowStore::merge_counters(const CounterMessage& message) {
  if (registration_ == nullptr || message.cluster != registration_->cluster()) {
    return base::invalid("cluster: these are counters of another cluster than this node's");
  }
  if (!is_node_name(message.from.node)) return base::invalid("node: that is no name of a node");
  if (message.from.node == counters_.self().node) {
    return base::invalid("node: '" + message.from.node + "' is this node itself");
  }
  const auto states = TRY(decode_states(message.states));
  const Source source = source_of(message.from);
  std::size_t refused = 0;
  for (const CounterState& state : states) {
    if (!counters_.merge(state, source, now())) ++refused;
  }
  if (refused > 0) tell_refused(message.from.node);
  return counters_.self();
}

// A node that brings too many goes on bringing them.
void EscrowStore::tell_refused(std::string_view node) {
  const std::uint64_t now_ns = clock_.now().ns();
  std::uint64_t told_ns = refusal_told_ns_;
  const bool is_told = told_ns != 0 && now_ns - told_ns < static_cast<std::uint64_t>(kRefusalToldEvery.ns());
  if (is_told || log_ == nullptr || !refusal_told_ns_.compare_exchange_strong(told_ns, now_ns)) return;
  log_->error("counters of another node are not taken in: there are too many here",
              {{"node", node}, {"refused", counters_.refused()}});
}

Result<Retired> EscrowStore::retire(std::string_view node) {
  if (registration_ == nullptr || !is_node_name(node)) return base::invalid("node: that is no name of a node");
  TRY(registration_->confirm());
  for (const NodeInfo& each : registration_->nodes()) {
    if (each.node.name != node) continue;
    return base::invalid(to_string(each.node) +
                         " is alive, or was a moment ago: stop it, and what it has goes back by "
                         "itself; if it was killed, wait 5 s");
  }
  auto retired = TRY(retirement_.settle_some(node));
  if (retired.left == 0) {
    const std::scoped_lock lock(away_mutex_);
    std::erase(away_, node);
  }
  return retired;
}

void EscrowStore::set_credentials(PeerCredentials credentials) {
  const auto next = std::make_shared<const PeerCredentials>(std::move(credentials));
  if (exchange_ != nullptr) exchange_->set_credentials(next);
  if (others_ != nullptr) others_->set_credentials(next);
}

ClusterStatus EscrowStore::status() {
  ClusterStatus status;
  const Instant now = clock_.now();
  status.shares = shares_.statistics(now);
  status.stranded = stranded_.amount(now);
  status.counters_refused = counters_.refused();
  if (const auto reason = carrier_->halted()) status.halted = reason->message;
  const auto remote = shared_->remote();
  status.is_shared_reachable = !remote || remote->is_reachable;
  if (registration_ == nullptr) return status;
  status.cluster = registration_->cluster();
  status.self = registration_->self();
  {
    const std::scoped_lock lock(away_mutex_);
    status.away = away_;
  }
  const std::vector<PeerStatus> peers = exchange_ == nullptr ? std::vector<PeerStatus>() : exchange_->status();
  for (NodeInfo& info : registration_->nodes()) {
    const auto is_it = [&](const PeerStatus& peer) { return peer.name == info.node.name && peer.is_connected; };
    const auto peer = std::find_if(peers.begin(), peers.end(), is_it);
    const bool is_linked = !info.is_self && peer != peers.end();
    status.nodes.push_back({std::move(info), is_linked ? std::optional(peer->lag) : std::nullopt});
  }
  return status;
}

// Counters are the nodes' own: those that plain servers kept in the shared store stay there, and nobody sees them.
void EscrowStore::tell_of_keys() {
  std::uint64_t cursor = 0;
  for (int page = 0; page < kKeyPagesMax && log_ != nullptr; ++page) {
    const auto keys = shared_->run(core::ScanKeys{cursor, kKeyPage});
    if (!keys) return;
    if (!keys->keys.empty()) {
      return log_->warning("the shared store has counters, throttles or quotas of its own, which nodes do not see",
                           {{"for_example", keys->keys.front().key},
                            {"remedy", "SET at a node what is to go on, as docs/escrow.md says"}});
    }
    cursor = keys->cursor;
    if (cursor == 0) return;
  }
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

Result<store::Store*> EscrowStore::home_of(std::string_view limit) {
  return definitions_.find(limit).map(
      [this](const auto& definition) { return definition->is_here() ? local_.get() : shared_.get(); });
}

namespace {

// Whether nothing is known there of the hold; and whether it is no hold any more there.
bool is_unknown(const Result<std::optional<HoldInfo>>& answer, std::string_view /*id*/) {
  return answer.has_value() && !answer->has_value();
}
template <class Answer>
bool is_unknown(const Result<Answer>& answer, std::string_view id) {
  return !answer.has_value() && answer.error() == core::no_hold(id);
}
template <class Answer>
bool is_over(const Result<Answer>& answer) {
  return !answer.has_value() && answer.error().code == ErrorCode::kNoHold;
}

}  // namespace

template <class What>
Result<typename What::Answer> EscrowStore::perform(const What& operation, store::Execution& execution) {
  constexpr core::Traits kTraits = What::kTraits;
  if constexpr (kTraits.home == core::Home::kHold) {
    auto here = local_->run(operation, execution);
    const bool is_unknown_here = is_unknown(here, operation.id);
    if (!is_unknown_here && !is_over(here)) return here;
    auto there = shared_->run(operation);
    return is_unknown_here || !is_unknown(there, operation.id) ? std::move(there) : std::move(here);
  } else {
    store::Store* const home = TRY(home_of(operation.meter.limit));
    if constexpr (kTraits.effect != core::Effect::kReads) {
      const Charge charge{operation.meter.limit, operation.meter.key, 0};
      if (home == shared_.get()) give_back({&charge, 1});
    }
    return home->run(operation, execution);
  }
}

// --- Ids and gives ---------------------------------------------------------------------------------------------------

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
  if (parts->here.empty()) {
    auto earlier = TRY(shared_->run(recall));
    if (!earlier) return earlier;
    const std::vector<Usage> not_told(recall.take.charges.size());
    return std::optional(as_denied_here(*earlier, recall.take.charges, not_told));
  }
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
  return decide_there(hold, *parts);
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
  const std::vector<Order> orders = shares_.settle_all(clock_.now());
  carrier_->for_each(orders.size(), [&](std::size_t i) { carrier_->carry_out(orders[i]); });
  keys_.clear();
  return local_->run(clear, execution);
}

Result<store::StoreStatistics> EscrowStore::perform(const core::ReadStatistics& /*read*/,
                                                    store::Execution& /*execution*/) {
  store::StoreStatistics statistics = local_->statistics();
  shared_->add_to(statistics);
  return statistics;
}

}  // namespace mete::escrow
