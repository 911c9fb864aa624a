#include "escrow/escrow_keys.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "core/refusals.h"
#include "core/reserved.h"
#include "core/validate.h"

namespace mete::escrow {

namespace {

using core::KeyType;

constexpr std::string_view kHex = "0123456789abcdef";
// Of a listing's cursor: which of the three kinds it is in.
constexpr std::uint64_t kKinds = 3;
enum class Listed : std::uint64_t { kCounters, kThrottles, kQuotas };

// A name of a limit has no control characters: they are written as %00.
std::string quota_name(std::string_view key) {
  std::string name(core::kQuotaLimits);
  for (const char each : key) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 0x20 && byte != 0x7f && byte != '%') {
      name += each;
    } else {
      name += '%';
      name += kHex[byte >> 4U];
      name += kHex[byte & 15U];
    }
  }
  return name;
}

std::string quota_key(std::string_view name) {
  name.remove_prefix(core::kQuotaLimits.size());
  std::string key;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%' || i + 2 >= name.size()) {
      key += name[i];
      continue;
    }
    key += static_cast<char>(kHex.find(name[i + 1]) << 4U | kHex.find(name[i + 2]));
    i += 2;
  }
  return key;
}

Result<Limit> quota_limit(std::string_view key, const core::QuotaRule& rule) {
  if (core::is_reserved_key(key)) return core::reserved_key(key);
  const std::string name = quota_name(key);
  if (name.size() > kNameBytesMax) {
    return base::invalid("key: a quota of a cluster has a key of at most " +
                         std::to_string(kNameBytesMax - core::kQuotaLimits.size()) + " bytes");
  }
  return window(name).amount(rule.amount).per(rule.window).scope(Scope::kEscrow);
}

core::QuotaRule rule_of(const Limit& limit) {
  return {.amount = limit.amount(), .window = limit.period().value_or(Duration())};
}

}  // namespace

std::shared_ptr<const Definition> EscrowKeys::quota(std::string_view key) const {
  if (!parts_.definitions.has_quotas()) return nullptr;
  return parts_.definitions.known(quota_name(key));
}

Result<bool> EscrowKeys::is_throttle(std::string_view key) {
  return parts_.throttles.run(core::TypeOfKey{key}).map([](KeyType type) { return type == KeyType::kThrottle; });
}

Result<void> EscrowKeys::check_counter(std::string_view key) {
  if (quota(key)) return core::wrong_type();
  const auto other = TRY(is_throttle(key));
  if (other) return core::wrong_type();
  return {};
}

// --- Quotas ----------------------------------------------------------------------------------------------------------

Result<Amount> EscrowKeys::consume(std::string_view key, Amount units, store::Execution& execution) {
  TRY(core::validate_consumption(units));
  const std::string name = quota_name(key);
  const Charge charge{name, key, units};
  return parts_.store.run(core::Take{.charges = {&charge, 1}}, execution).map([](const core::Verdict& verdict) {
    return verdict.is_allowed ? verdict.remaining : core::kQuotaDenied;
  });
}

Result<Amount> EscrowKeys::remaining(std::string_view key) {
  return parts_.store.usage({quota_name(key), key}).map([](const Usage& usage) { return usage.remaining; });
}

Result<void> EscrowKeys::perform(const core::SetQuota& set, store::Execution& /*execution*/) {
  const auto limit = TRY(quota_limit(set.key, set.rule));
  if (!quota(set.key)) {
    TRY(check_counter(set.key));
    if (parts_.counters.get(set.key, now())) return core::wrong_type();
  }
  return parts_.definitions.define(limit);
}

Result<std::optional<store::QuotaStanding>> EscrowKeys::perform(const core::GetQuota& get,
                                                                store::Execution& /*execution*/) {
  const auto definition = quota(get.key);
  if (!definition) {
    TRY(check_counter(get.key));
    if (parts_.counters.get(get.key, now())) return core::wrong_type();
    return std::nullopt;
  }
  return remaining(get.key).map([&](Amount left) {
    return std::optional(store::QuotaStanding{.rule = rule_of(definition->limit), .remaining = left});
  });
}

Result<bool> EscrowKeys::perform(const core::RemoveQuota& remove, store::Execution& /*execution*/) {
  if (!quota(remove.key)) {
    TRY(check_counter(remove.key));
    if (parts_.counters.get(remove.key, now())) return core::wrong_type();
  }
  return parts_.definitions.drop(quota_name(remove.key));
}

Result<Amount> EscrowKeys::perform(const core::TakeQuota& take, store::Execution& execution) {
  if (!quota(take.key)) {
    // Another node may have defined it a moment ago; then its rule is that one's.
    const auto elsewhere = parts_.definitions.find(quota_name(take.key));
    if (!elsewhere && elsewhere.error().code != ErrorCode::kNoLimit) return elsewhere.error();
    if (!elsewhere) {
      TRY(perform(core::SetQuota{take.key, take.rule}, execution));
    }
  }
  return consume(take.key, take.units, execution);
}

// --- Counters --------------------------------------------------------------------------------------------------------

Result<std::optional<std::int64_t>> EscrowKeys::perform(const core::GetKey& get, store::Execution& /*execution*/) {
  if (quota(get.key)) return remaining(get.key).map([](Amount left) { return std::optional<std::int64_t>(left); });
  TRY(check_counter(get.key));
  return parts_.counters.get(get.key, now());
}

Result<store::SetAnswer> EscrowKeys::perform(const core::SetCounter& set, store::Execution& execution) {
  const auto type = TRY(type_of(set.key));
  const bool is_other = type == KeyType::kQuota || type == KeyType::kThrottle;
  if (is_other && set.wants_old) return core::wrong_type();
  if (!core::is_within(set.reach, type)) {
    return store::SetAnswer{.is_set = false, .old = {}, .is_out_of_reach = true};
  }
  if (is_other) {
    if (set.condition == store::SetCondition::kIfAbsent) return store::SetAnswer{};
    TRY(perform(core::RemoveKey{set.key, set.reach}, execution));
    store::SetCounter replacing = set;
    replacing.condition = store::SetCondition::kAlways;
    return parts_.counters.set(replacing, now());
  }
  return parts_.counters.set(set, now());
}

Result<std::optional<std::int64_t>> EscrowKeys::perform(const core::TakeOut& take, store::Execution& /*execution*/) {
  TRY(check_counter(take.key));
  return parts_.counters.take_out(take.key, now());
}

Result<std::int64_t> EscrowKeys::perform(const core::AddToCounter& add, store::Execution& execution) {
  if (quota(add.key)) return consume(add.key, add.by, execution);
  // While there is a counter of the key, no throttle is made of it.
  if (auto sum = parts_.counters.add_if_live(add.key, add.by, now())) return std::move(*sum);
  TRY(check_counter(add.key));
  return parts_.counters.add(add.key, add.by, now());
}

Result<store::BoundedSum> EscrowKeys::perform(const core::AddBounded& add, store::Execution& /*execution*/) {
  TRY(check_counter(add.key));
  return parts_.counters.add_bounded(add, now());
}

// --- Throttles -------------------------------------------------------------------------------------------------------

Result<core::Verdict> EscrowKeys::perform(const core::Throttle& throttle, store::Execution& execution) {
  if (quota(throttle.key) || parts_.counters.get(throttle.key, now())) return core::wrong_type();
  return parts_.throttles.run(throttle, execution);
}

// --- Any key ---------------------------------------------------------------------------------------------------------

Result<KeyType> EscrowKeys::type_of(std::string_view key) {
  if (quota(key)) return KeyType::kQuota;
  const auto other = TRY(is_throttle(key));
  return other ? KeyType::kThrottle : parts_.counters.type(key, now());
}

Result<bool> EscrowKeys::perform(const core::RemoveKey& remove, store::Execution& execution) {
  const auto type = TRY(type_of(remove.key));
  if (!core::is_within(remove.reach, type)) return false;
  if (type == KeyType::kQuota) return parts_.definitions.drop(quota_name(remove.key));
  if (type == KeyType::kThrottle) return parts_.throttles.run(remove, execution);
  return parts_.counters.remove(remove.key, now());
}

Result<std::optional<Instant>> EscrowKeys::perform(const core::FindExpiry& find, store::Execution& execution) {
  const auto type = TRY(type_of(find.key));
  if (type == KeyType::kQuota) return Instant::max();
  if (type == KeyType::kThrottle) return parts_.throttles.run(find, execution);
  return parts_.counters.expires_at(find.key, now());
}

Result<bool> EscrowKeys::perform(const core::ExpireKey& expire, store::Execution& /*execution*/) {
  const auto type = TRY(type_of(expire.key));
  if (type == KeyType::kQuota || type == KeyType::kThrottle) return core::no_expiry(type);
  return parts_.counters.expire(expire.key, expire.expiry, expire.condition, now());
}

Result<bool> EscrowKeys::perform(const core::PersistKey& persist, store::Execution& /*execution*/) {
  const auto type = TRY(type_of(persist.key));
  if (type == KeyType::kThrottle) return core::no_expiry(type);
  return type == KeyType::kCounter && parts_.counters.persist(persist.key, now());
}

// Counters, then throttles, then quotas: the cursor says how far it has come in which.
Result<store::KeyPage> EscrowKeys::perform(const core::ScanKeys& scan, store::Execution& execution) {
  const auto kind = static_cast<Listed>(scan.cursor % kKinds);
  const std::uint64_t place = scan.cursor / kKinds;
  store::KeyPage page;
  if (kind == Listed::kQuotas) {
    for (const std::string& name : parts_.definitions.names()) {
      if (name.starts_with(core::kQuotaLimits)) page.keys.push_back({quota_key(name), KeyType::kQuota});
    }
    return page;
  }
  if (kind == Listed::kCounters) {
    page = parts_.counters.scan(place, scan.count, now());
  } else {
    page = TRY(parts_.throttles.run(core::ScanKeys{place, scan.count}, execution));
  }
  const auto next = static_cast<std::uint64_t>(kind) + 1;
  page.cursor = page.cursor == 0 ? next : page.cursor * kKinds + static_cast<std::uint64_t>(kind);
  return page;
}

Result<std::size_t> EscrowKeys::perform(const core::CountKeys& /*count*/, store::Execution& execution) {
  const std::size_t throttles = TRY(parts_.throttles.run(core::CountKeys(), execution));
  const std::vector<std::string> names = parts_.definitions.names();
  const auto quotas = std::count_if(names.begin(), names.end(),
                                    [](const std::string& name) { return name.starts_with(core::kQuotaLimits); });
  return parts_.counters.size() + throttles + static_cast<std::size_t>(quotas);
}

void EscrowKeys::clear() {
  std::uint64_t cursor = 0;
  do {
    const store::KeyPage page = parts_.counters.scan(cursor, 1000, now());
    for (const core::ListedKey& each : page.keys) parts_.counters.remove(each.key, now());
    cursor = page.cursor;
  } while (cursor != 0);
}

}  // namespace mete::escrow
