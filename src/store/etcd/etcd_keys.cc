#include "store/etcd/etcd_keys.h"

#include <utility>

#include "store/etcd/listing.h"

namespace mete::store::etcd {

namespace {

std::vector<EntryName> entries_of(std::string_view key) { return {{Space::kKey, {}, std::string(key)}}; }

}  // namespace

template <class Use>
auto EtcdKeys::ask(std::string_view key, Use use) -> decltype(use(std::declval<engine::Keys&>(), Instant())) {
  decltype(use(std::declval<engine::Keys&>(), Instant())) answer = tl::unexpected(Error());
  Call call = {.entries = entries_of(key), .decide = [&](engine::Engine& engine, Instant now) {
                 answer = use(engine.keys(), now);
                 return false;
               }};
  if (auto done = transactor_.read(call); !done) return tl::unexpected(done.error());
  return answer;
}

template <class Use>
auto EtcdKeys::act(std::string_view key, Use use) -> decltype(use(std::declval<engine::Keys&>(), Instant())) {
  decltype(use(std::declval<engine::Keys&>(), Instant())) answer = tl::unexpected(Error());
  Call call = {.entries = entries_of(key), .decide = [&](engine::Engine& engine, Instant now) {
                 answer = use(engine.keys(), now);
                 return answer.has_value();
               }};
  if (auto done = transactor_.change(call); !done) return tl::unexpected(done.error());
  return answer;
}

Result<std::optional<std::int64_t>> EtcdKeys::do_get(std::string_view key) {
  return ask(key, [&](engine::Keys& keys, Instant now) { return keys.get(key, now); });
}

Result<SetAnswer> EtcdKeys::do_set(const SetRequest& request) {
  return act(request.key, [&](engine::Keys& keys, Instant now) { return keys.set(request, now); });
}

Result<std::optional<std::int64_t>> EtcdKeys::do_take_out(std::string_view key) {
  return act(key, [&](engine::Keys& keys, Instant now) { return keys.take_out(key, now); });
}

Result<std::int64_t> EtcdKeys::do_add(std::string_view key, std::int64_t by) {
  return act(key, [&](engine::Keys& keys, Instant now) { return keys.add(key, by, now); });
}

Result<BoundedSum> EtcdKeys::do_add_bounded(const BoundedAdd& request) {
  return act(request.key, [&](engine::Keys& keys, Instant now) { return keys.add_bounded(request, now); });
}

Result<void> EtcdKeys::do_quota_set(std::string_view key, const QuotaRule& rule) {
  return act(key, [&](engine::Keys& keys, Instant now) { return keys.quota_set(key, rule, now); });
}

Result<std::optional<QuotaStanding>> EtcdKeys::do_quota_get(std::string_view key) {
  return ask(key, [&](engine::Keys& keys, Instant now) { return keys.quota_get(key, now); });
}

Result<bool> EtcdKeys::do_quota_remove(std::string_view key) {
  return act(key, [&](engine::Keys& keys, Instant now) { return keys.quota_remove(key, now); });
}

Result<Amount> EtcdKeys::do_quota_take(std::string_view key, const QuotaRule& rule, Amount units) {
  return act(key, [&](engine::Keys& keys, Instant now) { return keys.quota_take(key, rule, units, now); });
}

Result<core::Verdict> EtcdKeys::do_throttle(std::string_view key, const ThrottleRequest& request) {
  return act(key, [&](engine::Keys& keys, Instant now) { return keys.throttle(key, request, now); });
}

Result<KeyType> EtcdKeys::do_type(std::string_view key) {
  return ask(key, [&](engine::Keys& keys, Instant now) -> Result<KeyType> { return keys.type(key, now); });
}

Result<bool> EtcdKeys::do_remove(std::string_view key, KeyReach reach) {
  return act(key, [&](engine::Keys& keys, Instant now) -> Result<bool> { return keys.remove(key, reach, now); });
}

Result<std::optional<Instant>> EtcdKeys::do_expires_at(std::string_view key) {
  return ask(key, [&](engine::Keys& keys, Instant now) -> Result<std::optional<Instant>> {
    return keys.expires_at(key, now);
  });
}

Result<bool> EtcdKeys::do_expire(std::string_view key, const Expiry& expiry, ExpiryCondition condition) {
  return act(key, [&](engine::Keys& keys, Instant now) { return keys.expire(key, expiry, condition, now); });
}

Result<bool> EtcdKeys::do_persist(std::string_view key) {
  return act(key, [&](engine::Keys& keys, Instant now) { return keys.persist(key, now); });
}

Result<KeyPage> EtcdKeys::do_scan(std::uint64_t cursor, std::size_t count) {
  const auto listed = list_by_hash(transactor_, range_of(transactor_.prefix(), Space::kKey), cursor, count);
  if (!listed) return tl::unexpected(listed.error());
  KeyPage page = {.cursor = listed->cursor, .keys = {}};
  for (const auto& entries : in_portions(listed->entries, Transactor::kEntriesMax)) {
    const auto image = transactor_.fetch({entries.begin(), entries.end()});
    if (!image) return tl::unexpected(image.error());
    const auto scratch = transactor_.scratch_of(*image);
    if (!scratch) return tl::unexpected(scratch.error());
    std::uint64_t next = 0;
    do {
      core::KeyPage some = (*scratch)->engine().keys().scan(next, entries.size(), (*scratch)->now());
      next = some.cursor;
      std::move(some.keys.begin(), some.keys.end(), std::back_inserter(page.keys));
    } while (next != 0);
  }
  return page;
}

Result<std::size_t> EtcdKeys::do_size() {
  const KeyRange range = range_of(transactor_.prefix(), Space::kKey);
  const auto answer = transactor_.run({.reads = {{.key = range.begin, .end = range.end, .count_only = true}}});
  if (!answer) return tl::unexpected(answer.error());
  return answer->reads.front().count;
}

}  // namespace mete::store::etcd
