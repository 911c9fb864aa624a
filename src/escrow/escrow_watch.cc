// What a node looks after all the time: whether the shared store is still what it was, remembers what it must, and goes
// by a clock that nobody has set; who else is there, and which limits.
#include <utility>

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "escrow/escrow_store.h"

namespace mete::escrow {

namespace {

constexpr auto kWatchEvery = std::chrono::milliseconds(300);
// Longer than anybody asks again under an id who wants to know what has become of it.
constexpr Duration kIdRetentionMin = std::chrono::minutes(10);
// After a step of the shared store's clock, which may be one of several.
constexpr Duration kClockSteadyFor = std::chrono::seconds(10);

constexpr Duration kAwayEvery = std::chrono::minutes(1);

Error clock_set(Duration by) {
  const bool is_ahead = by > Duration();
  const Duration size = is_ahead ? by : Duration::from_ns(-by.ns());
  return base::unavailable("the clock that the shared store goes by was set " +
                           std::string(is_ahead ? "ahead" : "back") + " by " + base::duration_text(size) +
                           ": draws go on when it has gone evenly for " + base::duration_text(kClockSteadyFor));
}

}  // namespace

Result<void> EscrowStore::check_retention() {
  const auto statistics = TRY(shared_->run(core::ReadStatistics()));
  const auto retention = statistics.id_retention;
  if (!retention || *retention >= kIdRetentionMin) return {};
  return base::invalid("the shared store remembers ids for " + base::duration_text(*retention) +
                       " only (id_retention), and nodes need " + base::duration_text(kIdRetentionMin) +
                       ": what is asked again after it has forgotten the id would happen twice");
}

void EscrowStore::repeat_until_stopped(void (EscrowStore::*act)()) {
  const net::Cutoff::Scope scope(cutoff_);
  std::unique_lock lock(stop_mutex_);
  do {
    lock.unlock();
    (this->*act)();
    lock.lock();
  } while (!stop_signal_.wait_for(lock, kWatchEvery, [this] { return is_stopping_; }));
}

bool EscrowStore::is_stopping() {
  const std::scoped_lock lock(stop_mutex_);
  return is_stopping_;
}

void EscrowStore::watch() {
  // A shared store that is away is noticed where it is needed; what is known stays.
  static_cast<void>(definitions_.refresh());
  counters_.sweep(now());
}

void EscrowStore::look() {
  if (clock_.now() - looked_at_ < kRefreshEvery) return;
  look_at_shared();
  looked_at_ = clock_.now();
}

void EscrowStore::tend() {
  carrier_->tend();
  watch();
  look();
}

void EscrowStore::look_at_shared() {
  const auto remembers = check_retention();
  if (remembers.has_value()) forgetful_.reset();
  if (!remembers && remembers.error().code == ErrorCode::kInvalid) {
    forgetful_ = base::unavailable(remembers.error().message);
  }
  if (is_stopping()) return;  // What it asks waits for a shared store that may be away.
  if (registration_ != nullptr) {
    const Instant asked_at = clock_.now();
    if (confirm_shared()) look_at_clock(asked_at);
    if (is_stopping()) return;
    look_at_nodes();
  }
  set_halted(forgetful_ ? forgetful_ : clock_set_);
}

Result<void> EscrowStore::confirm_shared() {
  const Carrier::Confirmed asked{.at = clock_.now(), .connections = carrier_->connections()};
  auto confirmed = registration_->confirm();
  if (confirmed) carrier_->confirmed(asked);
  if (const auto lost = registration_->lost()) give_up(*lost);
  return confirmed;
}

// What was granted since the store was last known to be what it was, it may have granted to others as well.
void EscrowStore::give_up(const Error& reason) {
  std::call_once(given_up_, [&] {
    set_halted(reason);
    shares_.distrust(carrier_->confirmed().at);
  });
}

// Whoever draws may find out that this node is lost while its watcher finds nothing: that counts.
void EscrowStore::set_halted(std::optional<Error> reason) {
  const std::scoped_lock lock(halting_);
  if (registration_ != nullptr) {
    if (auto lost = registration_->lost()) reason = std::move(lost);
  }
  const auto before = carrier_->halted();
  const bool is_news = reason.has_value() != before.has_value() || (reason && reason->message != before->message);
  carrier_->halt(reason);
  if (!is_news || log_ == nullptr) return;
  if (reason) {
    log_->error("no more shares are drawn", {{"reason", reason->message}});
  } else {
    log_->info("shares are drawn again", {});
  }
}

// What a node has goes by the old time: it goes back, and is drawn anew.
void EscrowStore::look_at_clock(Instant asked_at) {
  const Instant told_at = clock_.now();
  if (const auto step =
          clock_watch_.note({.shown = registration_->clock(), .asked_at = asked_at, .told_at = told_at})) {
    clock_set_ = clock_set(*step);
    clock_set_at_ = told_at;
    set_halted(clock_set_);
    for (Order& order : shares_.settle_all(told_at)) carrier_->carry_out_later(std::move(order));
  } else if (clock_set_ && told_at - clock_set_at_ >= kClockSteadyFor) {
    clock_set_.reset();
  }
}

void EscrowStore::look_at_nodes() {
  const std::vector<NodeInfo> nodes = registration_->nodes();
  for (const NodeInfo& each : nodes) {
    const bool is_far_off = each.clock_ahead > kClockDifferenceMax;
    if (!is_far_off || !clocks_warned_of_.insert(each.node.name).second || log_ == nullptr) continue;
    log_->error("the nodes go by clocks that differ: windows begin and end apart",
                {{"node", each.node.name}, {"ahead_s", each.clock_ahead.seconds()}});
  }
  const std::vector<PeerAddress> peers = neighbours_.link_to(nodes, clock_.now());
  if (exchange_ != nullptr) exchange_->set_peers(peers);
  if (others_ != nullptr) others_->set_peers(peers);
  look_who_is_away(nodes);
}

// That changes when somebody comes or goes; and slowly besides, as draws expire or others retire a node.
void EscrowStore::look_who_is_away(const std::vector<NodeInfo>& nodes) {
  std::vector<std::string> alive;
  alive.reserve(nodes.size());
  for (const NodeInfo& each : nodes) alive.push_back(each.node.name);
  if (alive == alive_ && clock_.now() - away_looked_at_ < kAwayEvery) return;
  auto away = retirement_.away(nodes);
  if (!away) return;
  alive_ = std::move(alive);
  away_looked_at_ = clock_.now();
  const std::scoped_lock lock(away_mutex_);
  away_ = std::move(*away);
}

}  // namespace mete::escrow
