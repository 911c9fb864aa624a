#include "server/envoy/own_limits.h"

#include "base/try.h"
#include "store/caller.h"

namespace mete::server::envoy {

namespace {

// A name has no control characters.
std::string meter_of(std::string_view limit, std::string_view key) {
  return std::string(limit).append(1, '\0').append(key);
}

}  // namespace

bool OwnLimits::has(std::string_view limit, std::string_view key, Amount amount) const {
  const std::string meter = meter_of(limit, key);
  const std::lock_guard lock(mutex_);
  const auto found = amounts_.find(meter);
  return found != amounts_.end() && found->second == amount;
}

void OwnLimits::note(std::string_view limit, std::string_view key, Amount amount) {
  std::string meter = meter_of(limit, key);
  const std::lock_guard lock(mutex_);
  if (amounts_.size() >= kMetersMax) amounts_.clear();
  amounts_.insert_or_assign(std::move(meter), amount);
}

void OwnLimits::forget(std::string_view limit, std::string_view key) {
  const std::string meter = meter_of(limit, key);
  const std::lock_guard lock(mutex_);
  amounts_.erase(meter);
}

Result<void> OwnLimits::see_to(store::Store& store, const Limit& limit, const std::string& key) {
  // What a crash takes away is seen to again by the next request.
  store::Execution execution = {.waits_for_disk = false};
  store::Caller caller(store, execution);
  auto known = TRY(caller.limit(limit.name()));
  if (!known) {
    TRY(caller.define(limit));
    known = limit;
  }
  const auto usage = TRY(caller.usage({limit.name(), key}));
  if (usage.limit != limit.amount()) {
    const bool is_usual = known->amount() == limit.amount();
    TRY(caller.set_override({limit.name(), key}, is_usual ? std::nullopt : std::optional(limit.amount())));
  }
  note(limit.name(), key, limit.amount());
  return {};
}

}  // namespace mete::server::envoy
