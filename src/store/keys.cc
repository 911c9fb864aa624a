#include "store/keys.h"

#include "core/validate.h"
#include "store/checks.h"

namespace mete::store {

Result<std::optional<std::int64_t>> Keys::get(std::string_view key) {
  return checked(core::validate_key(key), [&] { return do_get(key); });
}

Result<SetAnswer> Keys::set(const SetRequest& request) {
  return checked(
      all_of(core::validate_key(request.key), core::validate_expiry(request.expiry, core::ExpiryRange::kAboveZero)),
      [&] { return do_set(request); });
}

Result<std::optional<std::int64_t>> Keys::take_out(std::string_view key) {
  return checked(core::validate_key(key), [&] { return do_take_out(key); });
}

Result<std::int64_t> Keys::add(std::string_view key, std::int64_t by) {
  return checked(core::validate_key(key), [&] { return do_add(key, by); });
}

Result<BoundedSum> Keys::add_bounded(const BoundedAdd& request) {
  return checked(all_of(core::validate_key(request.key), core::validate_bounds(request),
                        core::validate_expiry(request.expiry, core::ExpiryRange::kAboveZero)),
                 [&] { return do_add_bounded(request); });
}

Result<void> Keys::quota_set(std::string_view key, const QuotaRule& rule) {
  return checked(all_of(core::validate_key(key), core::validate_quota(rule)), [&] { return do_quota_set(key, rule); });
}

Result<std::optional<QuotaStanding>> Keys::quota_get(std::string_view key) {
  return checked(core::validate_key(key), [&] { return do_quota_get(key); });
}

Result<bool> Keys::quota_remove(std::string_view key) {
  return checked(core::validate_key(key), [&] { return do_quota_remove(key); });
}

Result<Amount> Keys::quota_take(std::string_view key, const QuotaRule& rule, Amount units) {
  return checked(all_of(core::validate_key(key), core::validate_quota(rule), core::validate_consumption(units)),
                 [&] { return do_quota_take(key, rule, units); });
}

Result<core::Verdict> Keys::throttle(std::string_view key, const ThrottleRequest& request) {
  return checked(all_of(core::validate_key(key), core::validate_throttle(request)),
                 [&] { return do_throttle(key, request); });
}

Result<KeyType> Keys::type(std::string_view key) {
  return checked(core::validate_key(key), [&] { return do_type(key); });
}

Result<bool> Keys::remove(std::string_view key, KeyReach reach) {
  return checked(core::validate_key(key), [&] { return do_remove(key, reach); });
}

Result<std::optional<Instant>> Keys::expires_at(std::string_view key) {
  return checked(core::validate_key(key), [&] { return do_expires_at(key); });
}

Result<bool> Keys::expire(std::string_view key, const Expiry& expiry, ExpiryCondition condition) {
  return checked(all_of(core::validate_key(key), core::validate_expiry(expiry, core::ExpiryRange::kAny)),
                 [&] { return do_expire(key, expiry, condition); });
}

Result<bool> Keys::persist(std::string_view key) {
  return checked(core::validate_key(key), [&] { return do_persist(key); });
}

Result<KeyPage> Keys::scan(std::uint64_t cursor, std::size_t count) { return do_scan(cursor, count); }

Result<std::size_t> Keys::size() { return do_size(); }

}  // namespace mete::store
