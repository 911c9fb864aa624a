// Definitions: mete.limits, and this process's copy of it.

#include <algorithm>

#include "base/check.h"
#include "core/refusals.h"
#include "store/redis/names.h"
#include "store/redis/redis_store.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

namespace {

// A change elsewhere is heard of by a message; and where that is lost, by asking so often.
constexpr Duration kPollEvery = std::chrono::milliseconds(500);

}  // namespace

Result<void> RedisStore::refresh_book() {
  const std::lock_guard guard(refresh_mutex_);
  const auto fields = run_command(kLimitsKey, {"HGETALL", kLimitsKey});
  if (!fields) return tl::make_unexpected(fields.error());
  auto read = LimitBook::read(*fields);
  if (!read) return tl::make_unexpected(read.error());
  session_.epoch.store((*read)->epoch(), std::memory_order_relaxed);
  std::atomic_store(&book_, std::move(*read));
  return {};
}

Result<void> RedisStore::refresh_book_if_changed() {
  const std::string key(kLimitsKey);
  const std::string arguments[] = {"generation"};
  const auto reply = run_script(StoreScript::kLook, {&key, 1}, arguments);
  if (!reply) return tl::make_unexpected(reply.error());
  session_.clock.tell(std::stoull(reply->elements[0].text));
  if (reply->elements[1].text == std::to_string(book()->generation())) return {};
  return refresh_book();
}

void RedisStore::keep_book_fresh() {
  std::uint64_t sweep_cursor = 0;
  while (!is_stopping_.load()) {
    (void)link_->wait_for_message(kLimitsKey, kPollEvery);
    if (is_stopping_.load()) return;
    (void)refresh_book_if_changed();  // unreachable: the next round asks again
    if (sweep_cursor == 0 && !has_leftovers_.exchange(false)) continue;
    if (sweep_cursor == 0) (void)keys_.sweep();
    sweep_cursor = sweep_leftovers(sweep_cursor).value_or(0);
  }
}

// A limit that is not known here may have been defined elsewhere a moment ago.
Result<const KnownLimit*> RedisStore::find_limit(Book& known, std::string_view name) {
  const KnownLimit* limit = known->find(name);
  if (limit != nullptr) return limit;
  if (auto refreshed = refresh_book_if_changed(); !refreshed) return tl::make_unexpected(refreshed.error());
  Book newer = book();
  if (newer == known || newer->find(name) == nullptr) return tl::make_unexpected(core::unknown_limit(name));
  // What was found in the older book goes with it: whoever looks for several begins again.
  known = std::move(newer);
  return nullptr;
}

// Changes definitions as long as it takes until nobody was there in between. `change` says which fields get which text.
Result<void> RedisStore::change_definitions(const Change& change) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (auto refreshed = refresh_book_if_changed(); !refreshed) return refreshed;
    const Book known = book();
    std::vector<std::string> arguments = change(*known, session_.clock.floor_us());
    if (arguments.empty()) return {};
    arguments.insert(arguments.begin(), std::to_string(known->generation()));
    const std::string key(kLimitsKey);
    const auto reply = run_script(StoreScript::kDefine, {&key, 1}, arguments);
    if (!reply) return tl::make_unexpected(reply.error());
    if (reply->integer == 1) return refresh_book();
  }
  return tl::make_unexpected(too_busy());
}

Result<void> RedisStore::do_define(const Limit& limit) {
  if (const auto period = micros_of("period", limit.period().value_or(Duration())); !period) {
    return tl::make_unexpected(period.error());
  }
  LimitEntry probe = redefined({}, limit, 0);
  if (auto made = KnownLimit::make(std::move(probe)); !made) return tl::make_unexpected(made.error());
  bool has_new_revision = false;
  auto changed = change_definitions([&](const LimitBook& known, std::uint64_t now_us) -> std::vector<std::string> {
    const auto found = known.entries().find(limit.name());
    const LimitEntry before = found == known.entries().end() ? LimitEntry() : found->second;
    const LimitEntry after = redefined(before, limit, now_us);
    has_new_revision = before.definition && after.rev != before.rev;
    if (after == before) return {};
    return {limit.name(), to_text(after)};
  });
  if (changed && has_new_revision) return keep_meters(limit.name());
  return changed;
}

Result<bool> RedisStore::do_drop(std::string_view name) {
  bool is_dropped = false;
  const auto changed =
      change_definitions([&](const LimitBook& known, std::uint64_t now_us) -> std::vector<std::string> {
        is_dropped = known.find(name) != nullptr;
        if (!is_dropped) return {};
        return {std::string(name), to_text(dropped(known.find(name)->entry(), now_us))};
      });
  if (!changed) return tl::make_unexpected(changed.error());
  if (is_dropped) has_leftovers_.store(true);
  return is_dropped;
}

Result<void> RedisStore::do_clear() {
  const auto changed = change_definitions([](const LimitBook& known, std::uint64_t now_us) {
    std::vector<std::string> fields = {std::string(kEpochField), std::to_string(known.epoch() + 1)};
    for (const auto& [name, entry] : known.entries()) {
      fields.push_back(name);
      fields.push_back(to_text(cleared(entry, now_us)));
    }
    return fields;
  });
  if (changed) has_leftovers_.store(true);
  return changed;
}

Result<std::optional<Limit>> RedisStore::do_limit(std::string_view name) {
  if (auto refreshed = refresh_book_if_changed(); !refreshed) return tl::make_unexpected(refreshed.error());
  const Book known = book();
  const KnownLimit* limit = known->find(name);
  return limit == nullptr ? std::nullopt : std::optional(limit->definition());
}

Result<std::vector<std::string>> RedisStore::do_limits() {
  if (auto refreshed = refresh_book_if_changed(); !refreshed) return tl::make_unexpected(refreshed.error());
  return book()->names();
}

Result<void> RedisStore::do_set_override(const MeterName& meter, std::optional<Amount> amount) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto looked = look_at(meter);
    if (!looked) return tl::make_unexpected(looked.error());
    if (!amount && !looked->images[0]->own_amount()) return {};
    looked->images[0]->set_own_amount(*looked->meters.list[0].limit, amount);
    const auto replaced = replace(*looked);
    if (!replaced) return tl::make_unexpected(replaced.error());
    if (*replaced) return {};
  }
  return tl::make_unexpected(too_busy());
}

Result<std::optional<Amount>> RedisStore::do_override_of(const MeterName& meter) {
  const auto looked = look_at(meter);
  if (!looked) return tl::make_unexpected(looked.error());
  return looked->images[0]->own_amount();
}

}  // namespace mete::store::redis
