// What a share gives back, and when.

#include <algorithm>
#include <utility>

#include "escrow/share.h"

namespace mete::escrow {

namespace {

// A kept lot is asked for until its book is closed, and by then its hold is over for certain.
constexpr Duration kKeptAskedOn = std::chrono::hours(1);

template <class Predicate>
void erase_lots(Lots& lots, Predicate is_over) {
  lots.erase(std::remove_if(lots.begin(), lots.end(), is_over), lots.end());
}

}  // namespace

// A hold is committed to what was spent of it, and gives back the rest. If its limit was dropped meanwhile, so was the
// hold: nothing goes back to another limit of that name. A bucket gets nothing back: it refills what nobody has spent,
// and if it were full the sooner for that, lots that were drawn behind this one would leak too late.
void Share::settle(Lot lot, Instant now) {
  if (lot.open > 0) {
    leaving_.push_back(std::move(lot));
    return;
  }
  const Amount spent = lot.rate > 0 ? lot.size : lot.spent;
  Settling settling;
  settling.order = {.kind = Order::Kind::kSettle,
                    .limit = limit_,
                    .key = key_,
                    .id = lot.id,
                    .amount = spent,
                    .is_kept = lot.is_kept,
                    .ttl = {},
                    .sent_at = now};
  settling.rest = lot.size - spent;
  settling.until = lot.is_kept ? lot.ends_at + kKeptAskedOn : lot.ends_at;
  settling.ask_at = now;
  settling_.push_back(std::move(settling));
}

void Share::settle_closed(Instant now) {
  std::vector<Lot> closed;
  std::erase_if(leaving_, [&](Lot& lot) {
    if (lot.open > 0) return false;
    closed.push_back(std::move(lot));
    return true;
  });
  for (Lot& lot : closed) settle(std::move(lot), now);
}

void Share::settle_lots(Instant now) {
  for (const Lot& lot : lots_) {
    const auto is_it = [&](const Settling& settling) { return settling.order.id == lot.id; };
    if (std::none_of(settling_.begin(), settling_.end(), is_it)) settle(lot, now);
  }
  lots_.clear();
}

void Share::distrust(Instant since) {
  for (const Lot& lot : lots_) {
    if (lot.granted_at >= since) statistics_.lapsed += static_cast<std::uint64_t>(lot.left);
  }
  const auto is_distrusted = [&](const Lot& lot) { return lot.granted_at >= since; };
  erase_lots(lots_, is_distrusted);
  std::erase_if(leaving_, is_distrusted);
}

void Share::settled(const Order& order, std::optional<MeterStanding> standing, Instant now) {
  const auto is_it = [&](const Settling& settling) { return settling.order.id == order.id; };
  const auto found = std::find_if(settling_.begin(), settling_.end(), is_it);
  if (found == settling_.end()) return;
  if (standing) {
    statistics_.returned += static_cast<std::uint64_t>(found->rest);
    know(*standing, now);
    if (found->rest > 0) denial_.reset();
  }
  settling_.erase(found);
  erase_lots(lots_, [&](const Lot& lot) { return lot.id == order.id; });
}

// With a bucket's lots that have leaked down to less than a unit.
void Share::settle_spent(Instant now) {
  erase_lots(lots_, [&](const Lot& lot) {
    if (lot.usable(now) > 0) return false;
    settle(lot, now);
    return true;
  });
}

// A lot that is only too old has a hold in a window that goes on: what is left of it goes back.
void Share::drop_dead(Instant now) {
  erase_lots(lots_, [&](const Lot& lot) {
    if (now < lot.dies_at) return false;
    if (now < lot.ends_at || lot.is_kept) settle(lot, now);
    if (now < lot.ends_at) return true;
    statistics_.lapsed += static_cast<std::uint64_t>(lot.left);
    return true;
  });
}

bool Share::has_too_much(Instant now) const {
  if (now - known_at_ < idle_time(*terms_)) return false;
  return usable(now) > 2 * demand_.within(far_horizon(now), now) + 1;
}

void Share::tend(DrawNames& names, Instant now, std::vector<Order>& orders) {
  drop_dead(now);
  settle_spent(now);
  const bool can_return = terms_->kind != Kind::kBucket;
  if (can_return && (now - demand_.asked_at() >= idle_time(*terms_) || has_too_much(now))) settle_lots(now);
  // The hold has expired, or the draw never arrived; either way nothing is owed.
  if (draw_ && now >= draw_->order.sent_at + terms_->ttl) give_up_draw(now);
  if (draw_ && !draw_->is_under_way && now >= draw_->ask_at) orders.push_back(draw(names, now));
  if (wants_draw(now)) orders.push_back(draw(names, now));
  std::erase_if(settling_, [&](const Settling& settling) { return now >= settling.until; });
  ask_settling(now, orders);
}

// It stands in the book of lots: whatever has become of it there, nothing of it is spent.
void Share::give_up_draw(Instant now) {
  if (draw_->order.is_kept) {
    Lot nothing;
    nothing.size = draw_->order.amount;
    nothing.ends_at = now;
    nothing.is_kept = true;
    nothing.id = draw_->order.id;
    settle(nothing, now);
  }
  draw_.reset();
}

void Share::settle_all(Instant now, std::vector<Order>& orders) {
  denial_.reset();  // Whoever wants that changes the meter there.
  given_back_at_ = now;
  settle_lots(now);
  ask_settling(now, orders);
}

void Share::ask_settling(Instant now, std::vector<Order>& orders) {
  for (Settling& settling : settling_) {
    if (settling.is_under_way || now < settling.ask_at) continue;
    settling.is_under_way = true;
    orders.push_back(settling.order);
  }
}

}  // namespace mete::escrow
