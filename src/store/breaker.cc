#include "store/breaker.h"

#include <algorithm>

#include "base/check.h"

namespace mete::store {

Breaker::Admission Breaker::admit(Instant now) {
  if (!is_open_) return Admission::kAdmitted;
  if (is_trial_under_way_ || now < trial_at_) return Admission::kRefused;
  is_trial_under_way_ = true;
  return Admission::kTrial;
}

void Breaker::succeeded() {
  is_open_ = false;
  is_trial_under_way_ = false;
}

void Breaker::failed(Admission admission, Instant now, std::uint64_t random) {
  CHECK(admission != Admission::kRefused);
  if (is_open_ && admission != Admission::kTrial) return;
  pause_ = is_open_ ? std::min(pause_ + pause_, kPauseMax) : kPauseMin;
  is_open_ = true;
  is_trial_under_way_ = false;
  const std::int64_t half_ns = pause_.ns() / 2;
  trial_at_ =
      now + Duration::from_ns(half_ns + static_cast<std::int64_t>(random % static_cast<std::uint64_t>(half_ns)));
}

}  // namespace mete::store
