#include "escrow/escrow_keys.h"

#include <algorithm>
#include <utility>

#include "core/refusals.h"
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
  std::string name(kQuotaPrefix);
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
  name.remove_prefix(kQuotaPrefix.size());
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
  std::string name = quota_name(key);
  if (name.size() > kNameBytesMax) {
    return tl::make_unexpected(Error{ErrorCode::kInvalid, "key: a quota of a cluster has a key of at most " +
                                                              std::to_string(kNameBytesMax - kQuotaPrefix.size()) +
                                                              " bytes"});
  }
  return window(std::move(name)).amount(rule.amount).per(rule.window).scope(Scope::kEscrow);
}

core::QuotaRule rule_of(const Limit& limit) {
  return {.amount = limit.amount(), .window = limit.period().value_or(Duration())};
}

}  // namespace

std::shared_ptr<const Definition> EscrowKeys::quota(std::string_view key) const {
  return parts_.definitions.known(quota_name(key));
}

Result<bool> EscrowKeys::is_throttle(std::string_view key) {
  return parts_.throttles.type(key).map([](KeyType type) { return type == KeyType::kThrottle; });
}

Result<void> EscrowKeys::check_counter(std::string_view key) {
  if (quota(key)) return core::wrong_type();
  const auto other = is_throttle(key);
  if (!other) return tl::make_unexpected(other.error());
  if (*other) return core::wrong_type();
  return {};
}

// --- Quotas ----------------------------------------------------------------------------------------------------------

Result<Amount> EscrowKeys::consume(std::string_view key, Amount units) {
  if (auto ok = core::validate_consumption(units); !ok) return tl::make_unexpected(ok.error());
  const std::string name = quota_name(key);
  const Charge charge{name, key, units};
  return parts_.store.take({.charges = {&charge, 1}}).map([](const core::Verdict& verdict) {
    return verdict.is_allowed ? verdict.remaining : core::kQuotaDenied;
  });
}

Result<Amount> EscrowKeys::remaining(std::string_view key) {
  return parts_.store.usage({quota_name(key), key}).map([](const Usage& usage) { return usage.remaining; });
}

Result<void> EscrowKeys::do_quota_set(std::string_view key, const store::QuotaRule& rule) {
  const auto limit = quota_limit(key, rule);
  if (!limit) return tl::make_unexpected(limit.error());
  if (!quota(key)) {
    if (auto ok = check_counter(key); !ok) return ok;
    if (parts_.counters.get(key, now())) return core::wrong_type();
  }
  return parts_.definitions.define(*limit);
}

Result<std::optional<store::QuotaStanding>> EscrowKeys::do_quota_get(std::string_view key) {
  const auto definition = quota(key);
  if (!definition) {
    if (auto ok = check_counter(key); !ok) return tl::make_unexpected(ok.error());
    if (parts_.counters.get(key, now())) return core::wrong_type();
    return std::nullopt;
  }
  return remaining(key).map([&](Amount left) {
    return std::optional(store::QuotaStanding{.rule = rule_of(definition->limit), .remaining = left});
  });
}

Result<bool> EscrowKeys::do_quota_remove(std::string_view key) {
  if (!quota(key)) {
    if (auto ok = check_counter(key); !ok) return tl::make_unexpected(ok.error());
    if (parts_.counters.get(key, now())) return core::wrong_type();
  }
  return parts_.definitions.drop(quota_name(key));
}

Result<Amount> EscrowKeys::do_quota_take(std::string_view key, const store::QuotaRule& rule, Amount units) {
  if (!quota(key)) {
    // Another node may have defined it a moment ago; then its rule is that one's.
    const auto elsewhere = parts_.definitions.find(quota_name(key));
    if (!elsewhere && elsewhere.error().code != ErrorCode::kNoLimit) return tl::make_unexpected(elsewhere.error());
    if (!elsewhere) {
      if (auto ok = do_quota_set(key, rule); !ok) return tl::make_unexpected(ok.error());
    }
  }
  return consume(key, units);
}

// --- Counters --------------------------------------------------------------------------------------------------------

Result<std::optional<std::int64_t>> EscrowKeys::do_get(std::string_view key) {
  if (quota(key)) return remaining(key).map([](Amount left) { return std::optional<std::int64_t>(left); });
  if (auto ok = check_counter(key); !ok) return tl::make_unexpected(ok.error());
  return parts_.counters.get(key, now());
}

Result<store::SetAnswer> EscrowKeys::do_set(const store::SetRequest& request) {
  const auto type = do_type(request.key);
  if (!type) return tl::make_unexpected(type.error());
  const bool is_other = *type == KeyType::kQuota || *type == KeyType::kThrottle;
  if (is_other && request.wants_old) return core::wrong_type();
  if (!core::is_within(request.reach, *type)) {
    return store::SetAnswer{.is_set = false, .old = {}, .is_out_of_reach = true};
  }
  if (is_other) {
    if (request.condition == store::SetCondition::kIfAbsent) return store::SetAnswer{};
    if (const auto removed = do_remove(request.key, request.reach); !removed) {
      return tl::make_unexpected(removed.error());
    }
    store::SetRequest replacing = request;
    replacing.condition = store::SetCondition::kAlways;
    return parts_.counters.set(replacing, now());
  }
  return parts_.counters.set(request, now());
}

Result<std::optional<std::int64_t>> EscrowKeys::do_take_out(std::string_view key) {
  if (auto ok = check_counter(key); !ok) return tl::make_unexpected(ok.error());
  return parts_.counters.take_out(key, now());
}

Result<std::int64_t> EscrowKeys::do_add(std::string_view key, std::int64_t by) {
  if (quota(key)) return consume(key, by);
  if (auto ok = check_counter(key); !ok) return tl::make_unexpected(ok.error());
  return parts_.counters.add(key, by, now());
}

Result<store::BoundedSum> EscrowKeys::do_add_bounded(const store::BoundedAdd& request) {
  if (auto ok = check_counter(request.key); !ok) return tl::make_unexpected(ok.error());
  return parts_.counters.add_bounded(request, now());
}

// --- Throttles -------------------------------------------------------------------------------------------------------

Result<core::Verdict> EscrowKeys::do_throttle(std::string_view key, const store::ThrottleRequest& request) {
  if (quota(key) || parts_.counters.get(key, now())) return core::wrong_type();
  return parts_.throttles.throttle(key, request);
}

// --- Any key ---------------------------------------------------------------------------------------------------------

Result<KeyType> EscrowKeys::do_type(std::string_view key) {
  if (quota(key)) return KeyType::kQuota;
  const auto other = is_throttle(key);
  if (!other) return tl::make_unexpected(other.error());
  return *other ? KeyType::kThrottle : parts_.counters.type(key, now());
}

Result<bool> EscrowKeys::do_remove(std::string_view key, store::KeyReach reach) {
  const auto type = do_type(key);
  if (!type) return tl::make_unexpected(type.error());
  if (!core::is_within(reach, *type)) return false;
  if (*type == KeyType::kQuota) return parts_.definitions.drop(quota_name(key));
  if (*type == KeyType::kThrottle) return parts_.throttles.remove(key, reach);
  return parts_.counters.remove(key, now());
}

Result<std::optional<Instant>> EscrowKeys::do_expires_at(std::string_view key) {
  const auto type = do_type(key);
  if (!type) return tl::make_unexpected(type.error());
  if (*type == KeyType::kQuota) return Instant::max();
  if (*type == KeyType::kThrottle) return parts_.throttles.expires_at(key);
  return parts_.counters.expires_at(key, now());
}

Result<bool> EscrowKeys::do_expire(std::string_view key, const store::Expiry& expiry,
                                   store::ExpiryCondition condition) {
  const auto type = do_type(key);
  if (!type) return tl::make_unexpected(type.error());
  if (*type == KeyType::kQuota || *type == KeyType::kThrottle) return core::no_expiry(*type);
  return parts_.counters.expire(key, expiry, condition, now());
}

Result<bool> EscrowKeys::do_persist(std::string_view key) {
  const auto type = do_type(key);
  if (!type) return tl::make_unexpected(type.error());
  if (*type == KeyType::kThrottle) return core::no_expiry(*type);
  return *type == KeyType::kCounter && parts_.counters.persist(key, now());
}

// Counters, then throttles, then quotas: the cursor says how far it has come in which.
Result<store::KeyPage> EscrowKeys::do_scan(std::uint64_t cursor, std::size_t count) {
  const auto kind = static_cast<Listed>(cursor % kKinds);
  const std::uint64_t place = cursor / kKinds;
  store::KeyPage page;
  if (kind == Listed::kQuotas) {
    for (const std::string& name : parts_.definitions.names()) {
      if (name.starts_with(kQuotaPrefix)) page.keys.push_back({quota_key(name), KeyType::kQuota});
    }
    return page;
  }
  if (kind == Listed::kCounters) {
    page = parts_.counters.scan(place, count, now());
  } else {
    auto throttles = parts_.throttles.scan(place, count);
    if (!throttles) return throttles;
    page = std::move(*throttles);
  }
  const auto next = static_cast<std::uint64_t>(kind) + 1;
  page.cursor = page.cursor == 0 ? next : page.cursor * kKinds + static_cast<std::uint64_t>(kind);
  return page;
}

Result<std::size_t> EscrowKeys::do_size() {
  const auto throttles = parts_.throttles.size();
  if (!throttles) return throttles;
  const std::vector<std::string> names = parts_.definitions.names();
  const auto quotas =
      std::count_if(names.begin(), names.end(), [](const std::string& name) { return name.starts_with(kQuotaPrefix); });
  return parts_.counters.size() + *throttles + static_cast<std::size_t>(quotas);
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
