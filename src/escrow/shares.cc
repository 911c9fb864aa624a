#include "escrow/shares.h"

#include <boost/unordered/unordered_flat_set.hpp>

#include <utility>

#include "base/hash.h"

namespace mete::escrow {

namespace {

// At a time: what is due a little later does no harm, and whoever takes must not be slowed down.
constexpr std::size_t kTendedMax = 4096;

}  // namespace

struct Shares::Table {
  struct Hash {
    using is_transparent = void;
    using is_avalanching = void;
    std::uint64_t seed = 0;
    std::size_t operator()(const store::MeterName& meter) const {
      return base::hash_bytes(meter.key, base::hash_bytes(meter.limit, seed));
    }
    std::size_t operator()(const std::unique_ptr<Share>& share) const {
      return (*this)(store::MeterName{share->limit(), share->key()});
    }
    std::size_t operator()(const Probe& probe) const { return probe.hash; }
  };
  struct Equal {
    using is_transparent = void;
    static store::MeterName name_of(const Probe& probe) { return probe.meter; }
    static store::MeterName name_of(const std::unique_ptr<Share>& share) {
      share->prefetch();  // Mostly it is the one: what a take reads of it comes while its name is compared.
      return {share->limit(), share->key()};
    }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      const store::MeterName x = name_of(a);
      const store::MeterName y = name_of(b);
      return x.key == y.key && x.limit == y.limit;
    }
  };

  explicit Table(std::uint64_t seed) : shares(0, Hash{seed}) {}

  boost::unordered_flat_set<std::unique_ptr<Share>, Hash, Equal> shares;
};

Shares::Shares(const SharesConfig& config) : names_(config.make_id), seed_(config.seed) {
  for (Shard& shard : shards_) shard.table = std::make_unique<Table>(seed_);
}

Shares::~Shares() = default;

Shares::Probe Shares::probe_of(const store::MeterName& meter) const { return {meter, Table::Hash{seed_}(meter)}; }

Share* Shares::find(const Shard& shard, const Probe& probe) {
  const auto found = shard.table->shares.find(probe);
  return found == shard.table->shares.end() ? nullptr : found->get();
}

Share& Shares::find_or_make(Shard& shard, const Probe& probe, const std::shared_ptr<const Terms>& terms) {
  if (Share* const share = find(shard, probe)) return *share;
  const store::MeterName& meter = probe.meter;
  const auto made =
      shard.table->shares.insert(std::make_unique<Share>(std::string(meter.limit), std::string(meter.key), terms));
  return **made.first;
}

Shares::Taking Shares::take(const store::MeterName& meter, const std::shared_ptr<const Terms>& terms, Amount cost,
                            const Attempt& attempt, Instant now) {
  Taking taking;
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  Share& share = find_or_make(shard, probe, terms);
  taking.outcome = share.take(cost, attempt.mode, now, taking.verdict);
  switch (taking.outcome) {
    case Share::Outcome::kDecided:
      ++shard.decisions;
      if (!attempt.has_waited) ++shard.local_decisions;
      taking.spent = share.spent();
      if (attempt.goes_on) share.keep_open(taking.spent);
      taking.bookings = share.take_bookings();
      if (share.wants_draw(now)) taking.order = share.draw(names_, now);
      taking.needs_others = taking.verdict.taken < cost && share.can_come_back() &&
                            (cost <= share.capacity() || attempt.mode == Mode::kUpTo);
      break;
    case Share::Outcome::kDraw:
      taking.order = share.draw(names_, now);
      taking.needs_others = share.can_come_back() && taking.order->amount > share.known_remaining(now);
      break;
    case Share::Outcome::kAsk:
      taking.order = share.ask(now);
      ++shard.decisions;
      break;
    case Share::Outcome::kFailed:
      taking.failure = share.failure();
      break;
    case Share::Outcome::kWait:
      break;
  }
  taking.change = shard.changes;
  return taking;
}

bool Shares::take_at_once(const store::MeterName& meter, Amount cost, Instant now, Taking& taking) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  Share* const share = find(shard, probe);
  if (share == nullptr || !share->spend_at_once(cost, now, taking.verdict)) return false;
  ++shard.decisions;
  ++shard.local_decisions;
  taking.outcome = Share::Outcome::kDecided;
  taking.bookings = share->take_bookings();
  if (share->wants_draw(now)) taking.order = share->draw(names_, now);
  return true;
}

void Shares::revise(std::string_view limit, const std::shared_ptr<const Terms>& terms, Instant now) {
  each_share([&](Share& share) {
    if (share.limit() == limit) share.revise(terms, now);
    return true;
  });
}

void Shares::booked(const store::MeterName& meter, const Booking& booking) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  if (Share* const share = find(shard, probe)) share->booked(booking.lot, booking.units);
}

void Shares::close(const store::MeterName& meter, const Spent& spent, Instant now) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  if (Share* const share = find(shard, probe)) share->close(spent, now);
}

Shares::Undone Shares::unspend(const store::MeterName& meter, const Spent& spent, Instant now) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  Share* const share = find(shard, probe);
  if (share == nullptr) return {};
  const Amount units = share->unspend(spent, now);
  return {.units = units, .bookings = share->take_bookings()};
}

void Shares::reconsider(const store::MeterName& meter) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  if (Share* const share = find(shard, probe)) share->reconsider();
}

void Shares::know(const store::MeterName& meter, const MeterStanding& standing, Instant now) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  if (Share* const share = find(shard, probe)) share->know(standing, now);
}

void Shares::finish(const Order& order, const Result<OrderAnswer>& answer, Instant now) {
  const store::MeterName meter{order.limit, order.key};
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  {
    const std::scoped_lock lock(shard.lock);
    ++shard.changes;
    Share* const share = find(shard, probe);
    if (share == nullptr) {
      // Its limit has gone meanwhile: who waits has to ask anew.
    } else if (!answer) {
      share->failed(order, answer.error(), now);
    } else if (order.kind == Order::Kind::kSettle) {
      share->settled(order, answer->standing, now);
    } else if (order.kind == Order::Kind::kAsk) {
      share->answered(order, *answer->verdict, now);
    } else if (answer->verdict->is_allowed) {
      share->granted(order, *answer->verdict, answer->held, now);
    } else {
      share->denied(order, *answer->verdict, answer->held, now);
    }
    shard.changed.notify_all();
  }
}

bool Shares::wait_for_change(const store::MeterName& meter, std::uint64_t change, std::chrono::nanoseconds wait) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  std::unique_lock lock(shard.lock);
  return shard.changed.wait(lock, net::Deadline::in(wait), [&] { return shard.changes != change; });
}

template <class Use>
void Shares::each_share(Shard& shard, Use use) {
  const std::scoped_lock lock(shard.lock);
  for (auto it = shard.table->shares.begin(); it != shard.table->shares.end();) {
    const bool stays = use(**it);
    if (stays) {
      ++it;
    } else {
      shard.forgotten += (*it)->statistics();
      shard.table->shares.erase(it++);
    }
  }
}

template <class Use>
void Shares::each_share(Use use) {
  for (Shard& shard : shards_) each_share(shard, use);
}

std::vector<Order> Shares::tend(Instant now) {
  std::vector<Order> orders;
  std::size_t tended = 0;
  for (std::size_t i = 0; i < kShards && tended < kTendedMax; ++i) {
    each_share(shards_[next_tended_++ % kShards], [&](Share& share) {
      ++tended;
      share.tend(names_, now, orders);
      return !share.is_forgettable(now);
    });
  }
  return orders;
}

std::vector<Order> Shares::settle(const store::MeterName& meter, Instant now) {
  std::vector<Order> orders;
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  if (Share* const share = find(shard, probe)) share->settle_all(now, orders);
  return orders;
}

std::vector<Order> Shares::settle_all(Instant now) {
  std::vector<Order> orders;
  each_share([&](Share& share) {
    share.settle_all(now, orders);
    return true;
  });
  return orders;
}

void Shares::distrust(Instant since) {
  each_share([&](Share& share) {
    share.distrust(since);
    return true;
  });
}

void Shares::forget(std::string_view limit) {
  each_share([&](const Share& share) { return share.limit() != limit; });
}

std::optional<Shares::Look> Shares::look(const store::MeterName& meter, Instant now) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  const Share* const found = find(shard, probe);
  if (found == nullptr) return std::nullopt;
  const Share& share = *found;
  return Look{.usable = share.usable(now),
              .held = share.held(),
              .held_and_spent = share.held_and_spent(),
              .is_stock = share.terms()->kind == Kind::kStock,
              .known_remaining = share.known_remaining(now),
              .outstanding = share.outstanding(),
              .capacity = share.capacity(),
              .has_order_under_way = share.has_order_under_way(),
              .change = shard.changes};
}

core::Verdict Shares::standing(const store::MeterName& meter, Instant now) {
  const Probe probe = probe_of(meter);
  Shard& shard = shard_of(probe);
  const std::scoped_lock lock(shard.lock);
  const Share* const share = find(shard, probe);
  return share == nullptr ? core::Verdict{.is_allowed = true} : share->standing(now);
}

Shares::LimitTotals Shares::totals(std::string_view limit) {
  LimitTotals sum;
  each_share([&](const Share& share) {
    if (share.limit() == limit) {
      sum.outstanding += share.outstanding();
      sum.held_and_spent += share.held_and_spent();
    }
    return true;
  });
  return sum;
}

SharesStatistics Shares::statistics(Instant now) {
  SharesStatistics sum;
  each_share([&](const Share& share) {
    sum.shares += share.statistics();
    sum.usable += share.usable(now);
    sum.outstanding += share.outstanding();
    ++sum.meters;
    return true;
  });
  for (Shard& shard : shards_) {
    const std::scoped_lock lock(shard.lock);
    sum.shares += shard.forgotten;
    sum.decisions += shard.decisions;
    sum.local_decisions += shard.local_decisions;
  }
  return sum;
}

}  // namespace mete::escrow
