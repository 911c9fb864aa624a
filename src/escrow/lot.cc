#include "escrow/lot.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/math.h"

namespace mete::escrow {

Amount Lot::not_leaked(Instant now) const {
  const auto ticks = base::multiply(base::to_unsigned((dies_at - now).ns()), base::to_unsigned(rate));
  return base::saturate(base::div_floor(ticks, base::to_unsigned(period.ns())), left);
}

Amount Lot::spend(Amount units, Instant now) {
  left = usable(now);  // What has leaked meanwhile is gone, or it could be spent a second time.
  const Amount taken = std::min(units, left);
  left -= taken;
  spent += taken;
  return taken;
}

void Lot::unspend(Amount units) {
  CHECK(units <= spent);
  spent -= units;
  left += units;
}

Instant window_end(const Terms& terms, Duration reset_after, Instant sent_at) {
  if (terms.kind == Kind::kStock) return Instant::max();
  CHECK(terms.kind != Kind::kSliding);  // Nothing is drawn of one: it would have to be spent at once.
  const std::int64_t counts_for = std::max<std::int64_t>(0, std::min(reset_after.ns(), terms.ttl.ns()));
  // Only a bucket's lots are kept longer than that.
  const std::int64_t age_max = terms.kind == Kind::kBucket ? counts_for : std::min(counts_for, kLotAgeMax.ns());
  const std::int64_t drift = age_max / kClockDriftDivisor;
  return sent_at + Duration::from_ns(counts_for - drift);
}

Lot make_lot(const Terms& terms, std::string id, Amount size, const core::Verdict& granted, Instant sent_at) {
  Lot lot;
  lot.size = size;
  lot.left = size;
  lot.dies_at = window_end(terms, granted.reset_after, sent_at);
  lot.ends_at = lot.dies_at;
  lot.is_kept = terms.is_kept;
  lot.number = base::hash_bytes(id, 0);
  lot.id = std::move(id);
  if (terms.kind == Kind::kBucket) {
    // What the bucket lacks is back after `reset_after`: that is its rate, whatever the key's own amount is, and
    // however old the terms are. It lacks this lot at least, and up to a unit less than it says.
    lot.rate = std::max(size, granted.limit - granted.remaining - 1);
    lot.period = granted.reset_after;
  } else {
    if (terms.kind == Kind::kStock) lot.ends_at = sent_at + terms.ttl;
    lot.dies_at = std::min(lot.dies_at, sent_at + kLotAgeMax);
  }
  return lot;
}

}  // namespace mete::escrow
