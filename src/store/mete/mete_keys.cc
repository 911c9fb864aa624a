#include "store/mete/mete_keys.h"

#include <algorithm>
#include <string>

#include "wire/text.h"

namespace mete::store::servers {

using enum Call::Repeat;

Result<std::int64_t> MeteKeys::ask_integer(Server& server, Call::Repeat repeat,
                                           std::initializer_list<std::string_view> words) {
  const auto reply = ServerGroup::ask_words(server, repeat, words);
  if (!reply) return tl::make_unexpected(reply.error());
  if (reply->type == wire::RespType::kInteger) return reply->integer;
  return tl::make_unexpected(unexpected_reply(*words.begin(), server.address()));
}

Result<std::optional<std::int64_t>> MeteKeys::ask_value(Server& server, Call::Repeat repeat,
                                                        std::initializer_list<std::string_view> words) {
  const auto reply = ServerGroup::ask_words(server, repeat, words);
  if (!reply) return tl::make_unexpected(reply.error());
  if (reply->type == wire::RespType::kNull) return std::nullopt;
  const auto value = reply->type == wire::RespType::kBulk ? wire::parse_integer(reply->text) : std::nullopt;
  if (!value) return tl::make_unexpected(unexpected_reply(*words.begin(), server.address()));
  return value;
}

Result<std::optional<std::int64_t>> MeteKeys::do_get(std::string_view key) {
  return ask_value(group_.home_of(key), kIfLost, {"GET", key});
}

Result<SetAnswer> MeteKeys::do_set(const SetRequest& request) {
  return group_.ask<SetAnswer>(group_.home_of(request.key), kNever, "STORE SET", request);
}

Result<std::optional<std::int64_t>> MeteKeys::do_take_out(std::string_view key) {
  return ask_value(group_.home_of(key), kNever, {"GETDEL", key});
}

Result<std::int64_t> MeteKeys::do_add(std::string_view key, std::int64_t by) {
  return ask_integer(group_.home_of(key), kNever, {"INCRBY", key, std::to_string(by)});
}

Result<BoundedSum> MeteKeys::do_add_bounded(const BoundedAdd& request) {
  return group_.ask<BoundedSum>(group_.home_of(request.key), kNever, "STORE INCREX", request);
}

Result<void> MeteKeys::do_quota_set(std::string_view key, const QuotaRule& rule) {
  const auto reply =
      ServerGroup::ask_words(group_.home_of(key), kIfLost,
                             {"QUOTASET", key, std::to_string(rule.amount), std::to_string(rule.window.seconds())});
  return reply.map([](const wire::RespValue&) { return Done{}; });
}

Result<std::optional<QuotaStanding>> MeteKeys::do_quota_get(std::string_view key) {
  Server& home = group_.home_of(key);
  const auto reply = ServerGroup::ask_words(home, kIfLost, {"QUOTAGET", key});
  if (reply && reply->type == wire::RespType::kNull) return std::nullopt;
  return read_integers<3>(home.address(), "QUOTAGET", reply).map([](const auto& parts) {
    return std::optional(
        QuotaStanding{.rule = {.amount = parts[0], .window = std::chrono::seconds(parts[1])}, .remaining = parts[2]});
  });
}

Result<bool> MeteKeys::do_quota_remove(std::string_view key) {
  return group_.ask<bool>(group_.home_of(key), kNever, "STORE QUOTADEL", key);
}

Result<Amount> MeteKeys::do_quota_take(std::string_view key, const QuotaRule& rule, Amount units) {
  return ask_integer(
      group_.home_of(key), kNever,
      {"QUOTAINCR", key, std::to_string(rule.amount), std::to_string(rule.window.seconds()), std::to_string(units)});
}

Result<core::Verdict> MeteKeys::do_throttle(std::string_view key, const ThrottleRequest& request) {
  return group_.ask<core::Verdict>(group_.home_of(key), kNever, "STORE THROTTLE", ThrottleMessage{key, request});
}

Result<KeyType> MeteKeys::do_type(std::string_view key) {
  Server& home = group_.home_of(key);
  const auto reply = ServerGroup::ask_words(home, kIfLost, {"TYPE", key});
  if (!reply) return tl::make_unexpected(reply.error());
  for (const KeyType type : {KeyType::kNone, KeyType::kCounter, KeyType::kQuota, KeyType::kThrottle}) {
    if (reply->text == to_string(type)) return type;
  }
  return tl::make_unexpected(unexpected_reply("TYPE", home.address()));
}

Result<bool> MeteKeys::do_remove(std::string_view key, KeyReach reach) {
  return group_.ask<bool>(group_.home_of(key), kNever, "STORE REMOVE", RemoveMessage{key, reach});
}

Result<std::optional<Instant>> MeteKeys::do_expires_at(std::string_view key) {
  return group_.ask<std::optional<Instant>>(group_.home_of(key), kIfLost, "STORE EXPIRES", key);
}

Result<bool> MeteKeys::do_expire(std::string_view key, const Expiry& expiry, ExpiryCondition condition) {
  return group_.ask<bool>(group_.home_of(key), kNever, "STORE EXPIRE", ExpireMessage{key, expiry, condition});
}

Result<bool> MeteKeys::do_persist(std::string_view key) {
  return ask_integer(group_.home_of(key), kNever, {"PERSIST", key}).map([](std::int64_t done) { return done == 1; });
}

Result<KeyPage> MeteKeys::do_scan(std::uint64_t cursor, std::size_t count) {
  return next_page<KeyPage>(group_, cursor, [&](Server& server, std::uint64_t there) {
    return group_.ask<KeyPage>(server, kIfLost, "STORE KEYS", KeyScanMessage{there, count});
  });
}

Result<std::size_t> MeteKeys::do_size() {
  std::size_t sum = 0;
  for (const auto& server : group_.servers()) {
    const auto there = ask_integer(*server, kIfLost, {"DBSIZE"});
    if (!there) return tl::make_unexpected(there.error());
    sum += static_cast<std::size_t>(*there);
  }
  return sum;
}

}  // namespace mete::store::servers
