#include "store/away/loss_finder.h"

#include <algorithm>

#include "base/monotonic.h"
#include "base/random.h"
#include "base/time_text.h"
#include "base/try.h"

namespace mete::store {

Instant LossFinder::clock_now() const { return clock_ != nullptr ? clock_->now() : base::monotonic_now(); }

Result<std::optional<Amount>> LossFinder::read(std::string_view key) {
  auto found = store_.override_of({kLimit, key});
  if (!found.has_value() && found.error().code == ErrorCode::kNoLimit) return std::nullopt;
  return found;
}

Result<void> LossFinder::write(std::string_view key, Amount number) {
  auto written = store_.set_override({kLimit, key}, number);
  if (written || written.error().code != ErrorCode::kNoLimit) return written;
  TRY(store_.define(stock(std::string(kLimit)).amount(1)));
  return store_.set_override({kLimit, key}, number);
}

bool LossFinder::is_settling() const { return renewed_at_ && clock_now() - *renewed_at_ < kSeenEvery; }

Result<void> LossFinder::begin(std::optional<Amount> identity) {
  identity_ = identity;
  needs_identity_ = !identity;
  return settle();
}

Result<std::optional<std::string>> LossFinder::find(std::optional<Amount> identity) {
  if (needs_identity_) {  // settle() has failed so far
    if (!identity || identity == identity_) return std::nullopt;
    identity_ = identity;  // somebody else has made one
    needs_identity_ = false;
    return std::nullopt;
  }
  std::optional<std::string> loss;
  if (!identity) {
    loss = "it has forgotten everything";
  } else if (identity != identity_ && !is_settling()) {
    loss = "it is another store than before";
  } else {
    loss = TRY(compare_time());
    needs_identity_ = loss.has_value();
  }
  needs_identity_ = needs_identity_ || !identity;
  if (identity) identity_ = identity;
  if (!loss) return loss;
  renewed_at_ = clock_now();
  seen_ = 0;
  return loss;
}

Result<std::optional<std::string>> LossFinder::compare_time() {
  if (seen_ == 0) return std::nullopt;
  const auto found = TRY(read(seen_key_));
  // One that is not there was copied before this server had begun.
  const Amount before = found.value_or(first_seen_);
  if (before + kBackMax.seconds() >= seen_) return std::nullopt;
  return std::optional("it has gone back to what it had " + base::about_text(std::chrono::seconds(seen_ - before)) +
                       " earlier");
}

Result<void> LossFinder::settle() {
  if (needs_identity_) {
    const auto number = 1 + static_cast<Amount>(base::random_number() % static_cast<std::uint64_t>(kAmountMax));
    TRY(write(kIdentityKey, number));
    identity_ = TRY(read(kIdentityKey));
    needs_identity_ = false;
    renewed_at_ = clock_now();
  }
  if (seen_ != 0 && seen_at_ && clock_now() - *seen_at_ < kSeenEvery) return {};
  const bool is_first = seen_ == 0;
  if (is_first) TRY(find_place());
  const Amount now = std::max(seen_, seconds_there());
  TRY(write(seen_key_, now));
  if (is_first) first_seen_ = now;
  seen_ = now;
  seen_at_ = clock_now();
  return {};
}

Result<void> LossFinder::find_place() {
  for (int tries = 0; tries < kTriesMax; ++tries) {
    seen_key_ = "seen-" + std::to_string(base::random_number() % kPlaces);
    const auto found = TRY(read(seen_key_));
    if (!found || *found + kNobodysAfter.seconds() < seconds_there()) break;
  }
  return {};
}

}  // namespace mete::store
