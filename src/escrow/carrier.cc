#include "escrow/carrier.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/monotonic.h"
#include "base/try.h"
#include "net/signal.h"

namespace mete::escrow {

namespace {

constexpr Duration kTendEvery = std::chrono::milliseconds(25);
constexpr Duration kLeftoversEvery = std::chrono::seconds(1);

OrderAnswer standing_of(const Settlement& settlement) {
  return {.verdict = {}, .standing = MeterStanding{settlement.remaining, settlement.limit}};
}

}  // namespace

Carrier::Carrier(Parts parts) : parts_(std::move(parts)) {
  if (parts_.has_threads) thread_ = std::thread([this] { run(); });
}

Carrier::~Carrier() { stop(); }

void Carrier::begin_stop() {
  if (stop_by_) return;
  stop_by_ = parts_.clock.now() + kStopWithin;
  if (parts_.cutoff != nullptr) parts_.cutoff->set(Instant::from_ns(base::monotonic_ns()) + kStopWithin);
}

void Carrier::stop() {
  if (std::exchange(is_stopped_, true)) return;
  begin_stop();
  failures_in_a_row_ = 0;
  if (thread_.joinable()) {
    loop_.post([this] { finish(); });
    thread_.join();
  }
  // What draws have brought meanwhile; without a thread, everything.
  for (const Order& order : parts_.shares.settle_all(parts_.clock.now())) {
    if (is_out_of_time()) return;
    carry_out(order);
  }
}

bool Carrier::is_out_of_time() const { return is_away() || parts_.clock.now() >= *stop_by_; }

void Carrier::carry_out_later(Order order) {
  if (!parts_.has_threads) return carry_out(order);
  loop_.post([this, order = std::move(order)]() mutable { begin(std::move(order)); });
}

void Carrier::for_each(std::size_t count, const std::function<void(std::size_t)>& act) {
  if (!parts_.has_threads || count == 0) {
    for (std::size_t i = 0; i < count; ++i) act(i);
    return;
  }
  struct Work {
    std::mutex mutex;
    net::Signal changed;
    std::size_t next = 0;
    std::size_t ended = 0;
  };
  const auto work = std::make_shared<Work>();
  const auto act_on = [work, count, &act] {
    std::unique_lock lock(work->mutex);
    while (work->next < count) {
      const std::size_t i = work->next++;
      lock.unlock();
      act(i);
      lock.lock();
      if (++work->ended == count) work->changed.notify_all();
    }
  };
  loop_.post([this, count, act_on] {
    for (std::size_t i = 0; i < std::min(count, kTogetherMax); ++i) fibers_.run(act_on);
  });
  std::unique_lock lock(work->mutex);
  work->changed.wait(lock, net::Deadline::in(Duration::never()), [&] { return work->ended == count; });
}

void Carrier::halt(std::optional<Error> reason) {
  const std::scoped_lock lock(mutex_);
  halted_ = std::move(reason);
}

std::optional<Error> Carrier::halted() const {
  const std::scoped_lock lock(mutex_);
  return halted_;
}

void Carrier::confirmed(const Confirmed& asked) {
  const std::scoped_lock lock(mutex_);
  confirmed_ = asked;
}

Carrier::Confirmed Carrier::confirmed() const {
  const std::scoped_lock lock(mutex_);
  return confirmed_;
}

std::uint64_t Carrier::connections() const {
  const auto remote = parts_.shared.remote();
  return remote ? remote->reconnects + remote->failures : 0;
}

void Carrier::run() {
  std::optional<net::Cutoff::Scope> scope;
  if (parts_.cutoff != nullptr) scope.emplace(*parts_.cutoff);
  tend_again_and_again();
  loop_.run();
}

void Carrier::tend_again_and_again() {
  if (is_finishing_) return;
  for (Order& order : wanted()) begin(std::move(order));
  loop_.after(kTendEvery, [this] { tend_again_and_again(); });
}

void Carrier::begin(Order order) {
  if (fibers_.under_way() >= kOrdersUnderWayMax) {
    waiting_.push_back(std::move(order));
    return;
  }
  fibers_.run([this, order = std::move(order)] {
    carry_out(order);
    loop_.at_round_end([this] { end_order(); });
  });
}

void Carrier::end_order() {
  if (is_finishing_ && is_out_of_time()) waiting_.clear();
  if (!waiting_.empty()) {
    Order next = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(next));
  }
  if (is_finishing_ && !has_orders()) loop_.stop();
}

// Everything goes back; and what is under way comes to its end: draws too, since somebody may wait for them.
void Carrier::finish() {
  is_finishing_ = true;
  for (Order& order : parts_.shares.settle_all(parts_.clock.now())) begin(std::move(order));
  if (!has_orders()) loop_.stop();
}

void Carrier::carry_out(const Order& order) {
  const auto answer = ask(order);
  const bool has_failed = !answer.has_value() && answer.error().code == ErrorCode::kUnavailable;
  failures_in_a_row_ = has_failed ? failures_in_a_row_ + 1 : 0;
  parts_.shares.finish(order, answer, parts_.clock.now());
  const bool is_leftover = order.limit.empty();
  if (!is_leftover || !has_failed) return;
  const std::scoped_lock lock(mutex_);
  leftovers_.push_back(order);
}

void Carrier::tend() {
  for (const Order& order : wanted()) carry_out(order);
}

std::vector<Order> Carrier::wanted() {
  const Instant now = parts_.clock.now();
  std::vector<Order> orders = parts_.shares.tend(now);
  const std::scoped_lock lock(mutex_);
  if (leftovers_.empty() || now < leftovers_at_) return orders;
  std::move(leftovers_.begin(), leftovers_.end(), std::back_inserter(orders));
  leftovers_.clear();
  leftovers_at_ = now + kLeftoversEvery;
  return orders;
}

// No share has this meter: that tells them from others.
void Carrier::settle_leftover(std::string id, Amount spent) {
  Order order;
  order.kind = Order::Kind::kSettle;
  order.id = std::move(id);
  order.amount = spent;
  order.is_kept = true;
  carry_out_later(std::move(order));
}

Result<OrderAnswer> Carrier::ask(const Order& order) {
  CHECK(order.kind != Order::Kind::kAsk);  // That is for who asks to carry out.
  if (order.kind == Order::Kind::kSettle) return settle(order);
  TRY(make_sure());
  auto answer = draw(order);
  // It may be of a store that has come back as it was earlier; or somebody has found out meanwhile that it has.
  TRY(make_sure());
  return answer;
}

Result<void> Carrier::make_sure() {
  const auto is_sure = [this] {
    const Confirmed last = confirmed();
    return last.connections == connections() && parts_.clock.now() - last.at < kConfirmedFor;
  };
  if (auto reason = halted()) return std::move(*reason);
  if (!parts_.confirm || is_sure()) return {};
  const std::uint64_t questions_before = questions_;
  const std::scoped_lock asking(making_sure_);
  if (is_sure()) return {};
  // A question that was put since has failed: a store that is away keeps all who wait for it no longer than one.
  if (questions_ == questions_before) {
    ++questions_;
    answer_ = parts_.confirm();
  }
  return answer_;
}

Result<OrderAnswer> Carrier::draw(const Order& order) {
  if (order.is_kept) {
    TRY(parts_.lots.begin(order.id));
  }
  const Charge charge{order.limit, order.key, order.amount};
  Usage usage;
  const auto verdict = parts_.shared.hold(
      {.charges = {&charge, 1}, .ttl = order.ttl, .id = order.id, .tag = parts_.tag, .usages = {&usage, 1}});
  const bool is_held = verdict.has_value() && verdict->is_allowed;
  const bool is_unknown = !verdict.has_value() && verdict.error().code == ErrorCode::kUnavailable;
  // Best effort: an entry of a lot that is none does no harm.
  if (order.is_kept && !is_held && !is_unknown) static_cast<void>(parts_.lots.end(order.id));
  if (!verdict.has_value()) return verdict.error();
  return OrderAnswer{.verdict = *verdict, .standing = {}, .held = usage.held};
}

Result<OrderAnswer> Carrier::settle(const Order& order) {
  auto settled = order.amount == 0 ? parts_.shared.cancel(order.id)
                                   : parts_.shared.commit({.id = order.id, .amounts = {&order.amount, 1}});
  // The book was ahead of what was spent.
  if (!settled.has_value() && settled.error().code == ErrorCode::kExceeds)
    settled = parts_.shared.commit({.id = order.id});
  const bool is_unknown = !settled.has_value() && settled.error().code == ErrorCode::kUnavailable;
  if (order.is_kept && !is_unknown) static_cast<void>(parts_.lots.end(order.id));
  return settled.map(standing_of);
}

}  // namespace mete::escrow
