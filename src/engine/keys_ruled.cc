// Keys with a rule of their own: quotas and throttles.

#include "base/try.h"
#include "core/refusals.h"
#include "core/take.h"
#include "core/validate.h"
#include "engine/key_access.h"

namespace mete::engine {

namespace {

core::Rule rule_of(const core::QuotaRule& quota) {
  return {.kind = Kind::kWindow, .amount = quota.amount, .capacity = quota.amount, .period = quota.window};
}

core::Rule rule_of(const core::ThrottleRequest& request) {
  return {.kind = Kind::kBucket, .amount = request.count, .capacity = request.capacity, .period = request.period};
}

}  // namespace

void Keys::write(const Access& access) {
  RuledRecord record;
  record.rule = access.rule;
  std::memcpy(record.state.data(), &access.state, sizeof record.state);
  access.entry->store(record);
}

bool Keys::make_ruled(Access& access, KeyType type, const core::Rule& rule) {
  const RuleRecord* record = rules_.acquire(rule);
  if (!make(access, type)) {
    rules_.release(record);
    return false;
  }
  count_expiring(false, type == KeyType::kThrottle);
  access.rule = record;
  access.state = {};
  access.moment = record->moment(access.state, access.now);
  core::settle(rule, access.state, access.moment);
  write(access);
  return true;
}

bool Keys::change_rule(Access& access, const core::Rule& rule) {
  const RuleRecord* from = access.rule;
  if (from->rule() == rule) return false;
  access.rule = rules_.acquire(rule);
  const core::Moment after = access.rule->moment(core::State(), access.moment.now);
  access.state = core::rebase({from->rule(), access.moment}, access.state, {rule, after});
  access.moment = after;
  write(access);
  tell(access);
  rules_.release(from);
  return true;
}

Result<Amount> Keys::consume(Access& access, Amount units) {
  TRY(core::validate_consumption(units));
  core::Verdict verdict;
  if (!core::take(access.rule->rule(), access.state, units, access.moment, verdict)) return core::kQuotaDenied;
  write(access);
  tell(access);
  return core::remaining(access.rule->rule(), access.state, access.moment);
}

Result<void> Keys::quota_set(std::string_view key, const core::QuotaRule& rule, Instant now) {
  const auto attempt = [&](Access& access) -> Result<void> {
    access.durable = Durable::kAlways;
    if (access.type == KeyType::kQuota) {
      // Told even if nothing changes: it may be a take that made the quota so, which did not wait for the disk.
      if (!change_rule(access, rule_of(rule))) tell(access);
      return {};
    }
    if (access.type != KeyType::kNone) return core::wrong_type();
    if (!make_ruled(access, KeyType::kQuota, rule_of(rule))) return memory_.out_of_memory();
    tell(access);
    return {};
  };
  return with_room(now, [&] { return with_key(key, now, attempt); });
}

Result<std::optional<core::QuotaStanding>> Keys::quota_get(std::string_view key, Instant now) {
  return with_key(key, now, [](const Access& access) -> Result<std::optional<core::QuotaStanding>> {
    if (access.type == KeyType::kNone) return std::nullopt;
    if (access.type != KeyType::kQuota) return core::wrong_type();
    const core::Rule& rule = access.rule->rule();
    return core::QuotaStanding{.rule = {.amount = rule.amount, .window = rule.period},
                               .remaining = core::remaining(rule, access.state, access.moment)};
  });
}

Result<bool> Keys::quota_remove(std::string_view key, Instant now) {
  return with_key(key, now, [this](Access& access) -> Result<bool> {
    if (access.type == KeyType::kNone) return false;
    if (access.type != KeyType::kQuota) return core::wrong_type();
    forget_and_tell(access);
    return true;
  });
}

Result<Amount> Keys::perform(const core::TakeQuota& request, std::uint64_t hash, Instant now) {
  const auto attempt = [&](Access& access) -> Result<Amount> {
    const bool is_new = access.type == KeyType::kNone;
    if (!is_new && access.type != KeyType::kQuota) return core::wrong_type();
    if (is_new && !make_ruled(access, KeyType::kQuota, rule_of(request.rule))) {
      return memory_.out_of_memory();
    }
    auto left = consume(access, request.units);
    // One that was not consumed from is there all the same.
    if (is_new && (!left || *left == core::kQuotaDenied)) tell(access);
    return left;
  };
  return with_room(now, [&] { return with_key(hash, request.key, now, attempt); });
}

Result<core::Verdict> Keys::perform(const core::Throttle& throttle, std::uint64_t hash, Instant now) {
  return with_room(now, [&] {
    const Keyspace::Guard guard(keyspace_, hash);
    Access access = find(guard, hash, throttle.key, now);
    // A throttle that is full stays for this charge: it would only be made again.
    if (access.type != KeyType::kThrottle) forget_if_gone(access);
    return take_throttle(access, throttle.request);
  });
}

Result<core::Verdict> Keys::take_throttle(Access& access, const core::ThrottleRequest& request) {
  const core::Rule rule = rule_of(request);
  const bool is_new = access.type == KeyType::kNone;
  if (!is_new && access.type != KeyType::kThrottle) return core::wrong_type();
  core::State state{core::State::Undefined()};
  state.bucket = is_new ? core::BucketState() : access.state.bucket;
  const core::Moment moment{access.now, {}};  // all that a bucket knows of time
  const bool is_changed = !is_new && access.rule->rule() != rule;
  if (is_changed) state = core::rebase({access.rule->rule(), moment}, state, {rule, moment});
  core::Verdict verdict;
  const bool is_charged = core::take(rule, state, request.quantity, moment, verdict);
  core::tell_standing(rule, state, moment, verdict);
  if (request.quantity == 0) return verdict;
  // The rule changes even where the charge does not fit: the wait that was told is one under the new rule.
  if (is_changed) change_rule(access, rule);
  if (!is_charged) return verdict;
  if (is_new && !make_ruled(access, KeyType::kThrottle, rule)) return memory_.out_of_memory();
  access.state.bucket = state.bucket;
  write(access);
  tell(access);
  return verdict;
}

}  // namespace mete::engine
