// The model's operations on holds that exist.
#include <algorithm>

#include "base/try.h"
#include "model/model_checks.h"
#include "model/model_limiter.h"

namespace mete::model {

Result<ModelLimiter::Hold*> ModelLimiter::hold_to_end(std::string_view id, HoldState end) {
  const auto found = holds_.find(std::string(id));
  if (found == holds_.end()) return refuse(ErrorCode::kNoHold);
  if (found->second.state == HoldState::kExpired) return refuse(ErrorCode::kExpired);
  if (found->second.state != HoldState::kHeld && found->second.state != end) return refuse(ErrorCode::kNoHold);
  return &found->second;
}

Result<Settlement> ModelLimiter::finish(Hold& hold, const std::vector<Amount>& amounts, bool with_overage) {
  if (amounts.size() != hold.parts.size()) return refuse(ErrorCode::kInvalid);
  if (hold.state == HoldState::kCommitted) {
    const bool is_same = std::ranges::equal(hold.parts, amounts, {}, &Part::units);
    return is_same ? Result<Settlement>(hold.answer) : refuse(ErrorCode::kMismatch);
  }
  const auto before = meters_;
  std::vector<Charge> overage;
  std::vector<MeterName> names;
  Amount sum = 0;
  bool is_beyond = false;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const Part& part = hold.parts[i];
    sum += amounts[i];
    is_beyond = is_beyond || amounts[i] > part.units;
    if (part.is_held) names.push_back(part.meter);
    come_back(part, part.charged - std::min(part.charged, amounts[i]));
    if (amounts[i] > part.units && part.is_held) {
      overage.push_back({part.meter.first, part.meter.second, amounts[i] - part.units});
    }
  }
  const bool is_fine =
      !is_beyond || (with_overage && (overage.empty() || judge(overage, Mode::kTake).decision.is_allowed));
  if (!is_fine) {
    meters_ = before;
    return refuse(ErrorCode::kExceeds);
  }
  hold.state = HoldState::kCommitted;
  hold.finished_at = now_;
  for (std::size_t i = 0; i < amounts.size(); ++i) hold.parts[i].units = amounts[i];
  hold.answer = settlement(sum, names);
  return hold.answer;
}

Result<Settlement> ModelLimiter::commit(std::string_view id) {
  pass();
  if (id.empty() || !is_valid_id(id)) return refuse(ErrorCode::kInvalid);
  const auto found = TRY(hold_to_end(id, HoldState::kCommitted));
  return finish(*found, found->held, false);
}

Result<Settlement> ModelLimiter::commit(std::string_view id, std::span<const Amount> amounts) {
  pass();
  if (id.empty() || !is_valid_id(id) || !are_valid_amounts(amounts)) return refuse(ErrorCode::kInvalid);
  const auto found = TRY(hold_to_end(id, HoldState::kCommitted));
  return finish(*found, {amounts.begin(), amounts.end()}, false);
}

Result<Settlement> ModelLimiter::commit_with_overage(std::string_view id, std::span<const Amount> amounts) {
  pass();
  if (id.empty() || !is_valid_id(id) || !are_valid_amounts(amounts)) return refuse(ErrorCode::kInvalid);
  const auto found = TRY(hold_to_end(id, HoldState::kCommitted));
  return finish(*found, {amounts.begin(), amounts.end()}, true);
}

Result<Settlement> ModelLimiter::cancel(std::string_view id) {
  pass();
  if (id.empty() || !is_valid_id(id)) return refuse(ErrorCode::kInvalid);
  const auto found = TRY(hold_to_end(id, HoldState::kCancelled));
  Hold& hold = *found;
  if (hold.state == HoldState::kCancelled) return hold.answer;
  Amount returned = 0;
  std::vector<MeterName> names;
  for (const Part& part : hold.parts) {
    if (!part.is_held) continue;
    names.push_back(part.meter);
    const Amount before = meter(part.meter).usage();
    come_back(part, part.charged);
    returned += before - meter(part.meter).usage();
  }
  hold.state = HoldState::kCancelled;
  hold.finished_at = now_;
  hold.answer = settlement(returned, names);
  return hold.answer;
}

Result<Duration> ModelLimiter::extend(std::string_view id, Duration ttl) {
  pass();
  const bool is_ttl_valid = ttl > Duration() && ttl <= kHoldTtlMax;
  if (id.empty() || !is_valid_id(id) || !is_ttl_valid) return refuse(ErrorCode::kInvalid);
  const auto found = TRY(hold_to_end(id, HoldState::kHeld));
  found->expires_at = now_ + ttl.ns();
  return ttl;
}

Result<std::optional<HoldInfo>> ModelLimiter::find_hold(std::string_view id) {
  pass();
  if (id.empty() || !is_valid_id(id)) return refuse(ErrorCode::kInvalid);
  const auto found = holds_.find(std::string(id));
  if (found == holds_.end()) return std::optional<HoldInfo>();
  const Hold& hold = found->second;
  const auto age = Duration::from_ns(static_cast<std::int64_t>(now_ - hold.made_at));
  HoldInfo info{hold.id, hold.state, {}, age, hold.tag, {}};
  if (hold.state == HoldState::kHeld) {
    info.expires_in = Duration::from_ns(static_cast<std::int64_t>(hold.expires_at - now_));
  }
  for (const Part& part : hold.parts) info.charges.push_back({part.meter.first, part.meter.second, part.units});
  return std::optional(info);
}

Result<std::vector<std::string>> ModelLimiter::holds(std::string_view limit, std::string_view key,
                                                     std::size_t count_max) {
  pass();
  if (!is_valid_name(limit) || !is_valid_key(key)) return refuse(ErrorCode::kInvalid);
  const MeterName name(limit, key);
  if (!limits_.contains(name.first)) return refuse(ErrorCode::kNoLimit);
  std::vector<const Hold*> found;
  for (const auto& [id, hold] : holds_) {
    const bool has_part = std::any_of(hold.parts.begin(), hold.parts.end(),
                                      [&](const Part& part) { return part.meter == name && part.is_held; });
    if (hold.state == HoldState::kHeld && has_part) found.push_back(&hold);
  }
  std::sort(found.begin(), found.end(), [](const Hold* a, const Hold* b) { return a->expires_at < b->expires_at; });
  std::vector<std::string> ids;
  for (const Hold* hold : found) {
    if (ids.size() < count_max) ids.push_back(hold->id);
  }
  return ids;
}

Result<std::vector<std::string>> ModelLimiter::holds_tagged(std::string_view tag) {
  pass();
  if (!is_valid_tag(tag)) return refuse(ErrorCode::kInvalid);
  std::vector<std::string> ids;
  for (const auto& [id, hold] : holds_) {
    if (hold.state == HoldState::kHeld && !tag.empty() && hold.tag == tag) ids.push_back(id);
  }
  return ids;
}

}  // namespace mete::model
