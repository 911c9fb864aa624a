#include "model/model_keys.h"

#include <algorithm>
#include <limits>

#include "base/try.h"
#include "model/model_checks.h"

namespace mete::model {

namespace {

using store::KeyType;

Terms quota_terms(const store::QuotaRule& rule) {
  Terms terms;
  terms.kind = Kind::kWindow;
  terms.amount = rule.amount;
  terms.capacity = rule.amount;
  terms.period = rule.window.ns();
  return terms;
}

Terms throttle_terms(const store::ThrottleRequest& request) {
  Terms terms;
  terms.kind = Kind::kBucket;
  terms.amount = request.count;
  terms.capacity = request.capacity;
  terms.period = request.period.ns();
  return terms;
}

bool is_int64(Wide number) {
  return number >= std::numeric_limits<std::int64_t>::min() && number <= std::numeric_limits<std::int64_t>::max();
}

}  // namespace

ModelKeys::Place ModelKeys::find(std::string_view key) {
  now_ = std::max(now_, Wide{clock_.now().ns()});
  for (auto& [name, each] : keys_) {
    if (each.meter) each.meter->pass_to(now_);
  }
  std::erase_if(keys_, [this](const auto& entry) {
    const Key& each = entry.second;
    if (each.type == KeyType::kThrottle) return each.meter->is_fresh();
    return each.expires_at && *each.expires_at <= now_;
  });
  return keys_.find(key);
}

bool ModelKeys::is_of(Place place, KeyType type) const { return place != keys_.end() && place->second.type == type; }

bool ModelKeys::is_other(Place place, KeyType type) const { return place != keys_.end() && !is_of(place, type); }

void ModelKeys::set_expiry(Key& key, const store::Expiry& expiry) const {
  using Kind = store::Expiry::Kind;
  if (expiry.kind == Kind::kNone) key.expires_at.reset();
  if (expiry.kind == Kind::kIn) key.expires_at = now_ + expiry.length.ns();
  if (expiry.kind == Kind::kAt) key.expires_at = expiry.instant.ns();
}

Result<std::optional<std::int64_t>> ModelKeys::perform(const core::GetKey& get) {
  const auto found = find(get.key);
  if (found == keys_.end()) return std::nullopt;
  if (is_of(found, KeyType::kThrottle)) return refuse(ErrorCode::kWrongType);
  return is_of(found, KeyType::kQuota) ? found->second.meter->remaining() : found->second.value;
}

Result<store::SetAnswer> ModelKeys::perform(const core::SetCounter& set) {
  const auto found = find(set.key);
  const bool is_present = found != keys_.end();
  if (set.wants_old && is_other(found, KeyType::kCounter)) return refuse(ErrorCode::kWrongType);
  store::SetAnswer answer;
  Key key;
  if (is_of(found, KeyType::kCounter)) {
    key = found->second;
    answer.old = key.value;
  }
  if (set.condition == store::SetCondition::kIfAbsent && is_present) return answer;
  if (set.condition == store::SetCondition::kIfPresent && !is_present) return answer;
  answer.is_out_of_reach = set.reach == store::KeyReach::kAllButQuotas && is_of(found, KeyType::kQuota);
  if (answer.is_out_of_reach) return answer;
  key.value = set.value;
  set_expiry(key, set.expiry);
  keys_.insert_or_assign(std::string(set.key), key);
  answer.is_set = true;
  return answer;
}

Result<std::optional<std::int64_t>> ModelKeys::perform(const core::TakeOut& take) {
  const auto found = find(take.key);
  if (is_other(found, KeyType::kCounter)) return refuse(ErrorCode::kWrongType);
  if (found == keys_.end()) return std::nullopt;
  const std::int64_t value = found->second.value;
  keys_.erase(found);
  return value;
}

Result<Amount> ModelKeys::consume(Key& key, Amount units) {
  if (!is_from_to(units, 1)) return refuse(ErrorCode::kInvalid);
  if (!key.meter->fits(units)) return -1;
  key.meter->charge(units);
  return key.meter->remaining();
}

Result<std::int64_t> ModelKeys::perform(const core::AddToCounter& add) {
  const auto found = find(add.key);
  if (is_of(found, KeyType::kQuota)) return consume(found->second, add.by);
  if (is_of(found, KeyType::kThrottle)) return refuse(ErrorCode::kWrongType);
  const Wide sum = (found == keys_.end() ? Wide{0} : found->second.value) + add.by;
  if (!is_int64(sum)) return refuse(ErrorCode::kInvalid);
  keys_[std::string(add.key)].value = static_cast<std::int64_t>(sum);
  return static_cast<std::int64_t>(sum);
}

Result<store::BoundedSum> ModelKeys::perform(const core::AddBounded& add) {
  const auto found = find(add.key);
  if (is_other(found, KeyType::kCounter)) return refuse(ErrorCode::kWrongType);
  const Key before = found == keys_.end() ? Key() : found->second;
  const Wide lower = add.lower.value_or(std::numeric_limits<std::int64_t>::min());
  const Wide upper = add.upper.value_or(std::numeric_limits<std::int64_t>::max());
  Wide sum = Wide{before.value} + add.by;
  if (add.saturate) sum = std::clamp(sum, lower, upper);
  if (sum < lower || sum > upper) return store::BoundedSum{before.value, 0};
  const Wide applied = sum - before.value;
  if (!is_int64(applied)) return refuse(ErrorCode::kInvalid);
  Key after = before;
  after.value = static_cast<std::int64_t>(sum);
  if (!add.expiry_only_if_none || !before.expires_at) set_expiry(after, add.expiry);
  keys_.insert_or_assign(std::string(add.key), after);
  return store::BoundedSum{after.value, static_cast<std::int64_t>(applied)};
}

Result<void> ModelKeys::perform(const core::SetQuota& set) {
  const auto found = find(set.key);
  if (is_other(found, KeyType::kQuota)) return refuse(ErrorCode::kWrongType);
  if (found == keys_.end()) {
    keys_[std::string(set.key)] = {KeyType::kQuota, 0, {}, ModelMeter(quota_terms(set.rule), now_), set.rule};
  } else {
    found->second.meter->redefine(quota_terms(set.rule));
    found->second.quota = set.rule;
  }
  return {};
}

Result<std::optional<store::QuotaStanding>> ModelKeys::perform(const core::GetQuota& get) {
  const auto found = find(get.key);
  if (is_other(found, KeyType::kQuota)) return refuse(ErrorCode::kWrongType);
  if (found == keys_.end()) return std::nullopt;
  return store::QuotaStanding{found->second.quota, found->second.meter->remaining()};
}

Result<bool> ModelKeys::perform(const core::RemoveQuota& remove) {
  const auto found = find(remove.key);
  if (is_other(found, KeyType::kQuota)) return refuse(ErrorCode::kWrongType);
  if (found == keys_.end()) return false;
  keys_.erase(found);
  return true;
}

Result<Amount> ModelKeys::perform(const core::TakeQuota& take) {
  const auto found = find(take.key);
  if (found == keys_.end()) {
    TRY(perform(core::SetQuota{take.key, take.rule}));
  } else if (is_other(found, KeyType::kQuota)) {
    return refuse(ErrorCode::kWrongType);
  }
  return consume(find(take.key)->second, take.units);
}

Result<core::Verdict> ModelKeys::perform(const core::Throttle& throttle) {
  const auto found = find(throttle.key);
  if (is_other(found, KeyType::kThrottle)) return refuse(ErrorCode::kWrongType);
  const Terms terms = throttle_terms(throttle.request);
  ModelMeter meter = found == keys_.end() ? ModelMeter(terms, now_) : *found->second.meter;
  meter.redefine(terms);
  core::Verdict verdict;
  verdict.is_allowed = meter.fits(throttle.request.quantity);
  if (verdict.is_allowed) {
    meter.charge(throttle.request.quantity);
    verdict.taken = throttle.request.quantity;
  } else {
    verdict.violated = 1;
    verdict.retry_after = meter.retry_after(throttle.request.quantity, {});
  }
  verdict.remaining = meter.remaining();
  verdict.limit = meter.capacity();
  verdict.reset_after = meter.reset_after();
  const bool is_kept = throttle.request.quantity > 0 && (verdict.is_allowed || found != keys_.end());
  if (is_kept) keys_[std::string(throttle.key)] = {KeyType::kThrottle, 0, {}, meter, {}};
  return verdict;
}

Result<KeyType> ModelKeys::perform(const core::TypeOfKey& type) {
  const auto found = find(type.key);
  return found == keys_.end() ? KeyType::kNone : found->second.type;
}

Result<bool> ModelKeys::perform(const core::RemoveKey& remove) {
  const auto found = find(remove.key);
  if (found == keys_.end()) return false;
  if (remove.reach == store::KeyReach::kAllButQuotas && is_of(found, KeyType::kQuota)) return false;
  keys_.erase(found);
  return true;
}

Result<std::optional<Instant>> ModelKeys::perform(const core::FindExpiry& expiry) {
  const auto found = find(expiry.key);
  if (found == keys_.end()) return std::nullopt;
  std::optional<Wide> end = found->second.expires_at;
  if (is_of(found, KeyType::kThrottle)) {
    const Duration left = found->second.meter->reset_after();
    if (!left.is_never()) end = now_ + left.ns();
  }
  return end ? Instant::from_ns(static_cast<std::uint64_t>(*end)) : Instant::max();
}

Result<bool> ModelKeys::perform(const core::ExpireKey& expire) {
  using enum store::ExpiryCondition;
  const auto found = find(expire.key);
  if (is_other(found, KeyType::kCounter)) return refuse(ErrorCode::kWrongType);
  if (found == keys_.end()) return false;
  Key changed = found->second;
  set_expiry(changed, expire.expiry);
  const std::optional<Wide> before = found->second.expires_at;
  const std::optional<Wide> after = changed.expires_at;
  const bool is_later = before && (!after || *after > *before);
  const bool is_sooner = after && (!before || *after < *before);
  if (expire.condition == kIfNone && before) return false;
  if ((expire.condition == kIfAny || expire.condition == kIfAnyAndSooner) && !before) return false;
  if (expire.condition == kIfLater && !is_later) return false;
  if ((expire.condition == kIfSooner || expire.condition == kIfAnyAndSooner) && !is_sooner) return false;
  found->second = changed;
  return true;
}

Result<bool> ModelKeys::perform(const core::PersistKey& persist) {
  const auto found = find(persist.key);
  if (is_of(found, KeyType::kThrottle)) return refuse(ErrorCode::kWrongType);
  if (found == keys_.end() || !found->second.expires_at) return false;
  found->second.expires_at.reset();
  return true;
}

Result<store::KeyPage> ModelKeys::perform(const core::ScanKeys& /*scan*/) {
  find({});
  store::KeyPage page;
  for (const auto& [name, key] : keys_) page.keys.push_back({name, key.type});
  return page;
}

Result<std::size_t> ModelKeys::perform(const core::CountKeys& /*count*/) {
  find({});
  return keys_.size();
}

}  // namespace mete::model
