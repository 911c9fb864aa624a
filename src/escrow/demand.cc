#include "escrow/demand.h"

#include <algorithm>

#include "base/math.h"

namespace mete::escrow {

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
// A rate is not judged by less than this: two requests together are no flood.
constexpr std::int64_t kShortestNs = 50'000'000;

Amount scale(Amount units, std::int64_t to_ns, std::int64_t from_ns) {
  const auto scaled = base::multiply(base::to_unsigned(units), base::to_unsigned(to_ns));
  return base::saturate(base::div_floor(scaled, base::to_unsigned(from_ns)), kAmountMax);
}

}  // namespace

Amount Demand::within(Duration time, Instant now) const {
  const std::int64_t in_slot_ns = (now - slot_start_).ns();
  const Amount present = scale(in_slot_, kSecondNs, std::max(in_slot_ns, kShortestNs));
  const Amount rate = in_slot_ns < kSecondNs ? std::max(rate_, present) : present;
  return scale(rate, std::max<std::int64_t>(0, time.ns()), kSecondNs);
}

// Half of it is how it was before, unless that is long ago.
void Demand::close_slot(Instant now) {
  const std::int64_t slot_ns = (now - slot_start_).ns();
  const Amount present = scale(in_slot_, kSecondNs, std::max(slot_ns, kShortestNs));
  rate_ = slot_ns < kSecondNs ? present / 2 + rate_ / 2 : present;
  in_slot_ = 0;
  asks_in_slot_ = 0;
  slot_start_ = now;
}

}  // namespace mete::escrow
