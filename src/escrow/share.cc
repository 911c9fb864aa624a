#include "escrow/share.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/math.h"
#include "core/reserved.h"
#include "store/hash_tag.h"

namespace mete::escrow {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Amount kFirstBatchDivisor = 10;  // of the limit
constexpr Amount kRestDivisor = 4;         // of what is left of the whole
constexpr Amount kSeldomDivisor = 20;      // of the limit: what is drawn ahead for much longer than a second
constexpr std::int64_t kSeldomFactor = 10;
constexpr std::int64_t kWindowDivisor = 4;  // of what is left of the window
constexpr std::int64_t kRoundTripsAhead = 4;
constexpr std::int64_t kRoundTripsSpent = 2;  // one to half of it, when the next draw is asked for, and one for that
// Where not every take waits for the disk, so much of a lot is written down as spent before it is.
constexpr Amount kBookedAheadDivisor = 16;
// A bucket's lot leaks, and what is left of it is rounded down. While half of the bucket is left nobody misses that;
// below, a lot has to be worth it.
constexpr Amount kBucketBatchMin = 2;
constexpr Amount kScarceBucketBatchMin = 20;
constexpr Duration kForgottenAfter = seconds(10);
constexpr Duration kDenialPauseMin = milliseconds(10);
constexpr Duration kDenialPauseMax = milliseconds(500);
constexpr Duration kRefusalPause = milliseconds(100);
constexpr Duration kAskPauseMin = milliseconds(100);
constexpr Duration kAskPauseMax = seconds(2);

Duration part(Duration length, std::int64_t divisor) { return Duration::from_ns(length.ns() / divisor); }
Duration until(Instant instant, Instant now) {
  return instant == Instant::max() ? Duration::never() : std::max(instant - now, Duration());
}
Instant after(Duration length, Instant now) { return length.is_never() ? Instant::max() : now + length; }

// Whether lots that were drawn under the one may be spent under the other.
bool keeps_lots(const Terms& before, const Terms& after) {
  if (after.is_over) return false;
  if (before.kind != after.kind || before.period != after.period || before.generation != after.generation) return false;
  return before.kind != Kind::kBucket || (before.amount == after.amount && before.capacity == after.capacity);
}

}  // namespace

// Draws of one key lie with it wherever keys are spread over several servers, if the name has room for the key's tag.
std::string DrawNames::next(std::string_view key) const {
  const std::string id = std::string(core::kReservedMark) + make_id_();
  const std::string_view tag = store::hashed_part(key);
  const bool fits = tag.size() + 2 + id.size() <= kIdBytesMax && tag.find('}') == std::string_view::npos;
  return fits ? "{" + std::string(tag) + "}" + id : id;
}

ShareStatistics& ShareStatistics::operator+=(const ShareStatistics& other) {
  draws += other.draws;
  denials += other.denials;
  granted += other.granted;
  returned += other.returned;
  lapsed += other.lapsed;
  return *this;
}

Share::Share(std::string limit, std::string key, std::shared_ptr<const Terms> terms)
    : limit_(std::move(limit)), key_(std::move(key)), terms_(std::move(terms)) {
  capacity_ = terms_->capacity;
}

void Share::revise(std::shared_ptr<const Terms> terms, Instant now) {
  const bool keeps = keeps_lots(*terms_, *terms);
  terms_ = std::move(terms);
  capacity_ = terms_->capacity;
  denial_.reset();
  denials_in_a_row_ = 0;
  if (!keeps) settle_lots(now);
}

// --- Taking ----------------------------------------------------------------------------------------------------------

bool Share::spend_at_once(Amount cost, Instant now, core::Verdict& verdict) {
  const Amount here = usable(now);
  if (here < cost) return false;
  demand_.add(cost, now);
  spend(cost, now);
  verdict = admitted(cost, here - cost, now);
  return true;
}

Share::Outcome Share::take(Amount cost, Mode mode, Instant now, core::Verdict& verdict) {
  spent_.clear();
  if (spend_at_once(cost, now, verdict)) return Outcome::kDecided;
  if ((draw_ && draw_->pause > Duration()) || now < refused_until_) return Outcome::kFailed;
  demand_.ask(now);  // Or what comes would be idle before it is spent.
  // Of these a draw may be worth nothing by the time it is here: a bucket's leaks, and a sliding window's would die
  // with the slot that it was charged in, so that of those none is drawn at all.
  const bool asks = terms_->kind == Kind::kBucket || terms_->kind == Kind::kSliding;
  if (draw_ && !asks) return Outcome::kWait;
  const Amount here = usable(now);
  Amount need = asks ? cost : cost - here;
  if (mode == Mode::kUpTo && is_denied(need, now)) need = std::clamp<Amount>(known_remaining(now), 1, need);
  if (!is_denied(need, now)) {
    need_ = need;
    return asks ? Outcome::kAsk : Outcome::kDraw;
  }
  demand_.add(cost, now);
  if (mode == Mode::kUpTo && here > 0) {
    spend(here, now);
    verdict = admitted(here, 0, now);
  } else {
    verdict = turned_down(cost, now);
  }
  return Outcome::kDecided;
}

void Share::spend(Amount cost, Instant now) {
  spent_.clear();
  for (std::size_t i = 0; cost > 0; ++i) {
    CHECK(i < lots_.size());
    Lot& lot = lots_[i];
    const Amount units = lot.spend(cost, now);
    if (units == 0) continue;
    cost -= units;
    spent_.push_back({lot.number, units});
    if (lot.is_kept) book(lot, units);
  }
}

// Takes of several threads may each write what the other has not written yet: the book then has too much as spent,
// which matters only after a crash.
void Share::book(Lot& lot, Amount units) {
  if (terms_->is_exactly_kept) {
    bookings_.push_back({lot.id, lot.number, units});
  } else if (lot.spent > lot.booked) {
    const Amount ahead = std::min(lot.size, lot.spent + lot.size / kBookedAheadDivisor);
    bookings_.push_back({lot.id, lot.number, ahead - lot.booked});
  }
}

void Share::booked(std::uint64_t number, Amount units) {
  if (Lot* const lot = find_lot(number)) lot->booked += units;
}

Lot* Share::find_lot(std::uint64_t number) {
  const auto is_it = [&](const Lot& lot) { return lot.number == number; };
  if (const auto lot = std::find_if(lots_.begin(), lots_.end(), is_it); lot != lots_.end()) return &*lot;
  const auto leaving = std::find_if(leaving_.begin(), leaving_.end(), is_it);
  return leaving == leaving_.end() ? nullptr : &*leaving;
}

void Share::keep_open(const Spent& spent) {
  for (const SpentPart& part : spent) {
    if (Lot* const lot = find_lot(part.lot)) lot->open += part.units;
  }
}

void Share::close(const Spent& spent, Instant now) {
  for (const SpentPart& part : spent) {
    if (Lot* const lot = find_lot(part.lot)) lot->open -= part.units;
  }
  settle_closed(now);
}

Amount Share::unspend(const Spent& spent, Instant now) {
  Amount undone = 0;
  for (const SpentPart& part : spent) {
    Lot* const lot = find_lot(part.lot);
    if (lot == nullptr) continue;
    lot->unspend(part.units);
    undone += part.units;
    if (lot->is_kept && terms_->is_exactly_kept) bookings_.push_back({lot->id, lot->number, -part.units});
  }
  if (undone > 0) denial_.reset();
  close(spent, now);
  return undone;
}

core::Verdict Share::admitted(Amount cost, Amount here, Instant now) const {
  core::Verdict verdict;
  verdict.is_allowed = true;
  verdict.taken = cost;
  verdict.remaining = std::min(capacity_, here + known_remaining(now));
  verdict.limit = capacity_;
  verdict.reset_after = terms_->kind == Kind::kStock ? Duration::never() : until(resets_at_, now);
  return verdict;
}

// The denial that is remembered may be of less: when that fits says nothing about what never does.
core::Verdict Share::turned_down(Amount cost, Instant now) const {
  core::Verdict verdict = standing(now);
  verdict.is_allowed = false;
  verdict.violated = 1;
  verdict.retry_after = cost > capacity_ ? Duration::never() : until(denial_->retry_at, now);
  return verdict;
}

bool Share::is_denied(Amount need, Instant now) const {
  return denial_ && now < denial_->until && need >= denial_->need;
}

// --- Drawing ---------------------------------------------------------------------------------------------------------

bool Share::wants_draw(Instant now) const {
  if (terms_->is_over || terms_->kind == Kind::kSliding) return false;
  // What goes back of a long window for being idle must not be drawn again for having been asked for. And what others
  // wanted is for them, until somebody asks for it here.
  if (terms_->is_kept && now - demand_.asked_at() >= idle_time(*terms_)) return false;
  if (demand_.asked_at() <= given_back_at_) return false;
  const bool is_bucket = terms_->kind == Kind::kBucket;
  if (usable(now) * 2 >= (is_bucket ? batch(now) : last_batch_) || draw_ || !is_known_) return false;
  if (is_bucket) {
    const bool is_scarce = known_remaining(now) * 2 < capacity_;
    if (batch(now) < (is_scarce ? kScarceBucketBatchMin : kBucketBatchMin)) return false;
  }
  if (denial_ && now < denial_->until) return false;
  return demand_.is_repeated() && expected(now) > 0 && known_remaining(now) > 0;
}

Duration Share::horizon() const {
  const Duration of_window = std::clamp<Duration>(part(terms_->ttl, 20), milliseconds(50), seconds(1));
  return std::max(of_window, round_trip_ * kRoundTripsAhead);
}

// The nearer the end of the window, the less: what is given back then comes too late for others.
Duration Share::far_horizon(Instant now) const {
  return std::min(horizon() * kSeldomFactor, part(until(window_ends_at_, now), kWindowDivisor));
}

Amount Share::expected(Instant now) const {
  const Amount soon = demand_.within(horizon(), now);
  const Amount later = demand_.within(far_horizon(now), now);
  return std::max(soon, std::min(later, capacity_ / kSeldomDivisor));
}

Amount Share::batch(Instant now) const {
  if (!is_known_) return std::max<Amount>(1, capacity_ / kFirstBatchDivisor);
  if (denials_in_a_row_ > 1) return 1;
  // What is asked for until the next draw can be here is spent before anybody could miss it.
  const Amount rest = known_remaining(now);
  const Amount spent_at_once = demand_.within(round_trip_ * kRoundTripsSpent, now);
  return std::clamp<Amount>(expected(now), 1,
                            std::max<Amount>({1, rest / kRestDivisor, std::min(rest, spent_at_once)}));
}

Order Share::draw(DrawNames& names, Instant now) {
  if (!draw_) {
    draw_ = Draw();
    draw_->terms = terms_;
    draw_->order = {.kind = Order::Kind::kDraw,
                    .limit = limit_,
                    .key = key_,
                    .id = names.next(key_),
                    .amount = std::max(need_, batch(now)),
                    .is_kept = terms_->is_kept,
                    .ttl = terms_->ttl,
                    .sent_at = now};
    ++statistics_.draws;
  }
  need_ = 0;
  draw_->is_under_way = true;
  return draw_->order;
}

Order Share::ask(Instant now) {
  Order order;
  order.kind = Order::Kind::kAsk;
  order.limit = limit_;
  order.key = key_;
  order.amount = std::exchange(need_, 0);
  order.sent_at = now;
  return order;
}

void Share::answered(const Order& order, const core::Verdict& verdict, Instant now) {
  demand_.add(order.amount, now);
  round_trip_ = now - order.sent_at;
  know({verdict.remaining, verdict.limit}, now);
  resets_at_ = after(verdict.reset_after, now);
  if (verdict.is_allowed) {
    denial_.reset();
  } else {
    note_denial(order, verdict, now);
  }
}

void Share::granted(const Order& order, const core::Verdict& verdict, Amount held, Instant now) {
  if (!draw_ || draw_->order.id != order.id) return;
  const std::shared_ptr<const Terms> terms = std::move(draw_->terms);
  if (draw_->pause == Duration()) round_trip_ = now - order.sent_at;
  draw_.reset();
  statistics_.granted += static_cast<std::uint64_t>(order.amount);
  others_hold_ = held > this->held() + order.amount;
  denial_.reset();
  denials_in_a_row_ = 0;
  last_batch_ = order.amount;
  know({verdict.remaining, verdict.limit}, now);
  resets_at_ = after(verdict.reset_after, now);
  window_ends_at_ = window_end(*terms, verdict.reset_after, order.sent_at);
  Lot lot = make_lot(*terms, order.id, order.amount, verdict, order.sent_at);
  lot.granted_at = now;
  if (!keeps_lots(*terms, *terms_)) return settle(std::move(lot), now);
  const auto place = std::upper_bound(lots_.begin(), lots_.end(), lot,
                                      [](const Lot& a, const Lot& b) { return a.dies_at < b.dies_at; });
  lots_.insert(place, std::move(lot));
  drop_dead(now);
}

void Share::denied(const Order& order, const core::Verdict& verdict, Amount held, Instant now) {
  if (!draw_ || draw_->order.id != order.id) return;
  if (draw_->pause == Duration()) round_trip_ = now - order.sent_at;
  draw_.reset();
  ++statistics_.denials;
  ++denials_in_a_row_;
  know({verdict.remaining, verdict.limit}, now);
  resets_at_ = after(verdict.reset_after, now);
  others_hold_ = held > this->held();
  note_denial(order, verdict, now);
}

void Share::note_denial(const Order& order, const core::Verdict& verdict, Instant now) {
  const Duration pause = denial_ ? std::min(denial_->pause * 2, kDenialPauseMax) : kDenialPauseMin;
  const Instant retry_at = after(denied_for(*terms_, verdict.retry_after, others_hold_), now);
  denial_ = {.need = order.amount, .until = std::min(now + pause, retry_at), .retry_at = retry_at, .pause = pause};
}

void Share::know(const MeterStanding& standing, Instant now) {
  is_known_ = true;
  remaining_ = standing.remaining;
  capacity_ = standing.limit;
  known_at_ = now;
}

Amount Share::known_remaining(Instant now) const {
  if (terms_->kind == Kind::kStock || !is_known_) return remaining_;
  if (now >= resets_at_) return capacity_;
  if (terms_->kind != Kind::kBucket) return remaining_;
  // Threads read the clock before they come here, and not in the order in which they do: an answer may be younger than
  // `now`, and nothing has been refilled since.
  const Duration since = std::max(now - known_at_, Duration());
  const auto refill = base::multiply(base::to_unsigned(since.ns()), base::to_unsigned(terms_->amount));
  const auto units = base::div_floor(refill, base::to_unsigned(terms_->period.ns()));
  return std::min(capacity_, remaining_ + base::saturate(units, kAmountMax));
}

void Share::Asking::put_off(Instant now) {
  is_under_way = false;
  pause = std::clamp(pause * 2, kAskPauseMin, kAskPauseMax);
  ask_at = now + pause;
}

void Share::failed(const Order& order, const Error& error, Instant now) {
  const bool is_refused = error.code != ErrorCode::kUnavailable;
  if (order.kind == Order::Kind::kSettle) {
    if (is_refused) return settled(order, std::nullopt, now);
    for (Settling& settling : settling_) {
      if (settling.order.id == order.id) settling.put_off(now);
    }
    return;
  }
  if (order.kind == Order::Kind::kAsk) {
    failure_ = error;
    refused_until_ = now + kRefusalPause;
    return;
  }
  if (!draw_ || draw_->order.id != order.id) return;
  failure_ = error;
  if (is_refused) {
    draw_.reset();
    refused_until_ = now + kRefusalPause;
  } else {
    draw_->put_off(now);
  }
}

// --- What there is --------------------------------------------------------------------------------------------------

bool Share::is_forgettable(Instant now) const {
  return lots_.empty() && leaving_.empty() && !draw_ && settling_.empty() &&
         now - demand_.asked_at() >= kForgottenAfter;
}

Amount Share::usable(Instant now) const {
  Amount sum = 0;
  for (const Lot& lot : lots_) sum += lot.usable(now);
  return sum;
}

bool Share::has_order_under_way() const {
  return (draw_ && draw_->is_under_way) || std::any_of(settling_.begin(), settling_.end(),
                                                       [](const Settling& settling) { return settling.is_under_way; });
}

Amount Share::held() const {
  Amount sum = 0;
  for (const Lot& lot : lots_) sum += lot.size;
  for (const Lot& lot : leaving_) sum += lot.size;
  for (const Settling& settling : settling_) sum += settling.order.amount + settling.rest;
  return sum;
}

Amount Share::held_and_spent() const {
  Amount sum = 0;
  for (const Lot& lot : lots_) sum += lot.spent;
  for (const Lot& lot : leaving_) sum += lot.spent;
  for (const Settling& settling : settling_) sum += settling.order.amount;
  return sum;
}

Amount Share::outstanding() const {
  Amount sum = draw_ ? draw_->order.amount : 0;
  for (const Lot& lot : lots_) sum += lot.left;
  for (const Lot& lot : leaving_) sum += lot.left;
  for (const Settling& settling : settling_) sum += settling.rest;
  return sum;
}

}  // namespace mete::escrow
