#include "escrow/carrier.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"

namespace mete::escrow {

namespace {

constexpr Duration kTendEvery = std::chrono::milliseconds(25);

OrderAnswer standing_of(const Settlement& settlement) {
  return {.verdict = {}, .standing = MeterStanding{settlement.remaining, settlement.limit}};
}

OrderAnswer answer_of(const core::Verdict& verdict) { return {.verdict = verdict, .standing = {}}; }

}  // namespace

Carrier::Carrier(Parts parts) : parts_(std::move(parts)) {
  if (parts_.has_threads) thread_ = std::thread([this] { run(); });
}

Carrier::~Carrier() {
  if (thread_.joinable()) {
    loop_.post([this] { finish(); });
    thread_.join();
  }
  // What draws have brought meanwhile; without a thread, everything.
  for (const Order& order : parts_.shares.settle_all(parts_.clock.now())) carry_out(order);
}

void Carrier::carry_out_later(Order order) {
  if (!parts_.has_threads) return carry_out(order);
  loop_.post([this, order = std::move(order)]() mutable { begin(std::move(order)); });
}

void Carrier::halt(Error reason) {
  const std::scoped_lock lock(mutex_);
  halted_ = std::move(reason);
}

std::optional<Error> Carrier::halted() const {
  const std::scoped_lock lock(mutex_);
  return halted_;
}

void Carrier::run() {
  tend_again_and_again();
  loop_.run();
}

void Carrier::tend_again_and_again() {
  if (is_finishing_) return;
  for (Order& order : parts_.shares.tend(parts_.clock.now())) begin(std::move(order));
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
  parts_.shares.finish(order, answer, parts_.clock.now());
}

void Carrier::tend() {
  for (const Order& order : parts_.shares.tend(parts_.clock.now())) carry_out(order);
}

Result<OrderAnswer> Carrier::ask(const Order& order) {
  CHECK(order.kind != Order::Kind::kAsk);  // That is for who asks to carry out.
  if (order.kind == Order::Kind::kSettle) return order.is_stock ? settle_stock(order) : settle(order);
  if (auto reason = halted()) return std::move(*reason);
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
  TRY(parts_.book.begin_draw(order));
  const Charge charge{order.limit, order.key, order.amount};
  const auto verdict = parts_.shared.take({.charges = {&charge, 1}, .id = order.id});
  if (!verdict.has_value() && verdict.error().code == ErrorCode::kUnavailable) return verdict.error();
  // A server in between has failed open: where the stock is kept, nobody has heard of it.
  if (verdict.has_value() && verdict->is_unrecorded) return base::unavailable("the draw could not be recorded");
  const bool is_granted = verdict.has_value() && verdict->is_allowed;
  TRY(parts_.book.end_draw(order, is_granted));
  return verdict.map(answer_of);
}

Result<OrderAnswer> Carrier::settle_stock(const Order& order) {
  TRY(parts_.book.begin_return(order));
  const Charge charge{order.limit, order.key, order.amount};
  const auto settlement = parts_.shared.give({&charge, 1}, order.id);
  if (!settlement && settlement.error().code == ErrorCode::kUnavailable) {
    return settlement.error();
  }
  TRY(parts_.book.end_return(order));
  return settlement.map(standing_of);
}

}  // namespace mete::escrow
