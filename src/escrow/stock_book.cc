#include "escrow/stock_book.h"
#include "base/try.h"

#include <utility>

namespace mete::escrow {

namespace {

constexpr std::string_view kDrawTag = "mete-draws";
constexpr std::string_view kReturnTag = "mete-returns";
constexpr std::size_t kPage = 1000;

std::string share_of(std::string_view limit) { return std::string(StockBook::kSharePrefix) + std::string(limit); }
std::string draws_of(std::string_view limit) { return std::string(StockBook::kDrawPrefix) + std::string(limit); }

// What has been settled before is settled: this is the same step once more.
template <class Answer>
Result<void> done(const Answer& result) {
  if (result.has_value() || result.error().code == ErrorCode::kNoHold || result.error().code == ErrorCode::kExpired)
    return {};
  return result.error();
}

template <class Answer>
Result<void> void_of(const Answer& result) {
  if (result.has_value()) return {};
  return result.error();
}

}  // namespace

Result<void> StockBook::open(std::string_view limit) {
  for (const std::string& name : {share_of(limit), draws_of(limit)}) {
    const auto known = local_.limit(name);
    if (known.has_value() && *known) continue;
    TRY(local_.define(stock(name).amount(kAmountMax)));
  }
  return {};
}

Result<void> StockBook::close(std::string_view limit) {
  {
    const std::scoped_lock lock(mutex_);
    const std::string prefix = std::string(limit) + '\0';
    std::erase_if(known_, [&](const std::string& meter) { return meter.starts_with(prefix); });
  }
  TRY(local_.drop(draws_of(limit)));
  return void_of(local_.drop(share_of(limit)));
}

// A meter that was never used has all of its amount left: that must be nothing.
Result<void> StockBook::ensure_empty(std::string_view limit, std::string_view key) {
  std::string meter = std::string(limit) + '\0' + std::string(key);
  const std::scoped_lock lock(mutex_);
  if (known_.contains(meter)) return {};
  const std::string name = share_of(limit);
  const auto usage = TRY(local_.usage({name, key}));
  if (usage.used == 0) {
    TRY(local_.reconcile({name, key}, kAmountMax));
  }
  known_.insert(std::move(meter));
  return {};
}

Result<void> StockBook::hold(std::string_view limit, const Order& order, std::string_view tag) {
  const Charge charge{limit, order.key, order.amount};
  const auto verdict = TRY(local_.hold({.charges = {&charge, 1}, .ttl = kHoldTtlMax, .id = order.id, .tag = tag}));
  if (verdict.is_allowed) return {};
  return Error{ErrorCode::kExceeds, "this node's books have less than " + std::to_string(order.amount) + " of limit '" +
                                        order.limit + "': nothing is given back"};
}

Result<void> StockBook::begin_draw(const Order& order) { return hold(draws_of(order.limit), order, kDrawTag); }

Result<void> StockBook::end_draw(const Order& order, bool is_granted) {
  if (is_granted) {
    TRY(ensure_empty(order.limit, order.key));
    const std::string name = share_of(order.limit);
    const Charge charge{name, order.key, order.amount};
    // Under an id of its own, so that the same draw adds to the share once.
    TRY(void_of(local_.give({&charge, 1}, order.id + "+")));
  }
  return done(local_.cancel(order.id));
}

Result<void> StockBook::begin_return(const Order& order) { return hold(share_of(order.limit), order, kReturnTag); }

Result<void> StockBook::end_return(const Order& order) { return done(local_.commit({.id = order.id})); }

Result<void> StockBook::spend(const store::MeterName& meter, Amount units, store::Execution& execution) {
  const std::string name = share_of(meter.limit);
  const Charge charge{name, meter.key, units};
  return void_of(local_.run(core::Take{.charges = {&charge, 1}, .mode = Mode::kForce}, execution));
}

Result<void> StockBook::unspend(const store::MeterName& meter, Amount units, store::Execution& execution) {
  const std::string name = share_of(meter.limit);
  const Charge charge{name, meter.key, units};
  return void_of(local_.run(core::Give{.charges = {&charge, 1}}, execution));
}

Result<std::vector<StockBook::Entry>> StockBook::shares_of(std::string_view limit) {
  std::vector<Entry> entries;
  std::uint64_t cursor = 0;
  do {
    const auto page = TRY(local_.scan(share_of(limit), cursor, kPage));
    for (const KeyUsage& each : page.keys) {
      if (each.usage.used > 0 && each.usage.remaining > 0) entries.push_back({each.key, each.usage.remaining});
    }
    cursor = page.cursor;
  } while (cursor != 0);
  return entries;
}

Result<std::vector<StockBook::Open>> StockBook::open_orders() {
  std::vector<Open> all;
  for (const std::string_view tag : {kDrawTag, kReturnTag}) {
    const auto ids = TRY(local_.holds_tagged(tag));
    const std::string_view prefix = tag == kDrawTag ? kDrawPrefix : kSharePrefix;
    for (const std::string& id : ids) {
      const auto hold = TRY(local_.find_hold(id));
      if (!hold || hold->charges.empty()) continue;
      const HeldCharge& charge = hold->charges[0];
      if (!charge.limit.starts_with(prefix)) continue;
      all.push_back({{.kind = tag == kDrawTag ? Order::Kind::kDraw : Order::Kind::kSettle,
                      .limit = charge.limit.substr(prefix.size()),
                      .key = charge.key,
                      .id = id,
                      .amount = charge.amount,
                      .is_stock = true,
                      .ttl = {},
                      .sent_at = {}},
                     hold->age});
    }
  }
  return all;
}

}  // namespace mete::escrow
