#include "escrow/carrier.h"

#include <chrono>
#include <utility>

#include "base/check.h"

namespace mete::escrow {

namespace {

constexpr auto kTendEvery = std::chrono::milliseconds(25);
constexpr int kThreads = 8;

OrderAnswer standing_of(const Settlement& settlement) {
  return {.verdict = {}, .standing = MeterStanding{settlement.remaining, settlement.limit}};
}

OrderAnswer answer_of(const core::Verdict& verdict) { return {.verdict = verdict, .standing = {}}; }

}  // namespace

Carrier::Carrier(Parts parts) : parts_(std::move(parts)), tender_([this] { tend_until_stopped(); }) {
  for (int i = 0; i < kThreads; ++i) carriers_.emplace_back([this] { carry_until_stopped(); });
}

Carrier::~Carrier() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  tender_.join();
  for (Order& order : parts_.shares.settle_all(parts_.clock.now())) carry_out_later(std::move(order));
  {
    const std::scoped_lock lock(mutex_);
    is_drained_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : carriers_) thread.join();
  // What draws have brought meanwhile.
  for (const Order& order : parts_.shares.settle_all(parts_.clock.now())) carry_out(order);
}

void Carrier::carry_out_later(Order order) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(order));
  }
  wanted_.notify_one();
}

void Carrier::halt(Error reason) {
  const std::scoped_lock lock(mutex_);
  halted_ = std::move(reason);
}

std::optional<Error> Carrier::halted() const {
  const std::scoped_lock lock(mutex_);
  return halted_;
}

void Carrier::tend_until_stopped() {
  for (;;) {
    std::vector<Order> orders = parts_.shares.tend(parts_.clock.now());
    {
      const std::scoped_lock lock(mutex_);
      if (is_stopping_) return;
      for (Order& order : orders) queue_.push_back(std::move(order));
    }
    if (!orders.empty()) wanted_.notify_all();
    std::this_thread::sleep_for(kTendEvery);
  }
}

// What is in the queue when it stops is carried out: draws too, since somebody may wait for them.
void Carrier::carry_until_stopped() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return is_drained_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Order order = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    carry_out(order);
    lock.lock();
  }
}

void Carrier::carry_out(const Order& order) {
  const auto answer = ask(order);
  parts_.shares.finish(order, answer, parts_.clock.now());
}

Result<OrderAnswer> Carrier::ask(const Order& order) {
  CHECK(order.kind != Order::Kind::kAsk);  // That is for who asks to carry out.
  if (order.kind == Order::Kind::kSettle) return order.is_stock ? settle_stock(order) : settle(order);
  if (auto reason = halted()) return tl::make_unexpected(std::move(*reason));
  return order.is_stock ? draw_stock(order) : draw(order);
}

Result<OrderAnswer> Carrier::draw(const Order& order) {
  const Charge charge{order.limit, order.key, order.amount};
  return parts_.shared.hold({.charges = {&charge, 1}, .ttl = order.ttl, .id = order.id, .tag = parts_.tag})
      .map(answer_of);
}

Result<OrderAnswer> Carrier::settle(const Order& order) {
  if (order.amount == 0) return parts_.shared.cancel(order.id).map(standing_of);
  return parts_.shared.commit({.id = order.id, .amounts = {&order.amount, 1}}).map(standing_of);
}

Result<OrderAnswer> Carrier::draw_stock(const Order& order) {
  if (const auto ok = parts_.book.begin_draw(order); !ok) return tl::make_unexpected(ok.error());
  const Charge charge{order.limit, order.key, order.amount};
  const auto verdict = parts_.shared.take({.charges = {&charge, 1}, .id = order.id});
  if (!verdict && verdict.error().code == ErrorCode::kUnavailable) return tl::make_unexpected(verdict.error());
  const bool is_granted = verdict && verdict->is_allowed;
  if (const auto ok = parts_.book.end_draw(order, is_granted); !ok) return tl::make_unexpected(ok.error());
  return verdict.map(answer_of);
}

Result<OrderAnswer> Carrier::settle_stock(const Order& order) {
  if (const auto ok = parts_.book.begin_return(order); !ok) return tl::make_unexpected(ok.error());
  const Charge charge{order.limit, order.key, order.amount};
  const auto settlement = parts_.shared.give({&charge, 1}, order.id);
  if (!settlement && settlement.error().code == ErrorCode::kUnavailable) {
    return tl::make_unexpected(settlement.error());
  }
  if (const auto ok = parts_.book.end_return(order); !ok) return tl::make_unexpected(ok.error());
  return settlement.map(standing_of);
}

}  // namespace mete::escrow
