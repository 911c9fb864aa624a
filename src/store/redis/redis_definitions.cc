// Definitions: mete.limits, and this process's copy of it.

#include <algorithm>

#include "base/check.h"
#include "base/try.h"
#include "core/refusals.h"
#include "store/redis/names.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

namespace {

// A change elsewhere is heard of by a message; and where that is lost, by asking so often.
constexpr Duration kPollEvery = std::chrono::milliseconds(500);

// Fields of mete.limits and their new texts in turn.
using Fields = Result<std::vector<std::string>>;

}  // namespace

Result<void> RedisStore::refresh_book() {
  const std::lock_guard guard(refresh_mutex_);
  const auto fields = TRY(run_command(kLimitsKey, {"HGETALL", kLimitsKey}));
  auto read = TRY(LimitBook::read(fields));
  session_.epoch.store(read->epoch(), std::memory_order_relaxed);
  std::atomic_store(&book_, std::move(read));
  return {};
}

Result<void> RedisStore::refresh_book_if_changed() {
  const std::string key(kLimitsKey);
  const std::string arguments[] = {"generation"};
  const auto reply = TRY(run_script(StoreScript::kLook, {&key, 1}, arguments));
  const auto now_us = TRY(read_natural(element(reply, 0)));
  session_.clock.tell(now_us);
  if (element(reply, 1).text == std::to_string(book()->generation())) return {};
  return refresh_book();
}

void RedisStore::keep_book_fresh() {
  std::uint64_t sweep_cursor = 0;
  while (!is_stopping_.load()) {
    (void)link_->wait_for_message(kLimitsKey, kPollEvery);
    if (is_stopping_.load()) return;
    (void)refresh_book_if_changed();  // unreachable: the next round asks again
    (void)census_.go_on({.epoch = book()->epoch(), .now_us = session_.clock.floor_us()});
    settle_meters(census_.take_unsettled());
    if (sweep_cursor == 0 && !has_leftovers_.exchange(false)) continue;
    if (sweep_cursor == 0) (void)keys_.sweep();
    sweep_cursor = sweep_leftovers(sweep_cursor).value_or(0);
  }
}

// An error here is the next walk's, too.
void RedisStore::settle_meters(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto meter = parse_meter_key(name);
    const Book known = book();
    const KnownLimit* const limit = meter ? known->find(meter->limit) : nullptr;
    if (limit != nullptr) (void)catch_up(*limit, meter->key);
  }
}

// A limit that is not known here may have been defined elsewhere a moment ago.
Result<const KnownLimit*> RedisStore::find_limit(Book& known, std::string_view name) {
  const KnownLimit* limit = known->find(name);
  if (limit != nullptr) return limit;
  TRY(refresh_book_if_changed());
  Book newer = book();
  if (const auto unreadable = newer->unreadable(name)) return *unreadable;
  if (newer == known || newer->find(name) == nullptr) return core::unknown_limit(name);
  // What was found in the older book goes with it: whoever looks for several begins again.
  known = std::move(newer);
  return nullptr;
}

// Changes definitions as long as it takes until nobody was there in between. `change` says which fields get which text.
Result<void> RedisStore::change_definitions(const Change& change) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    TRY(refresh_book_if_changed());
    const Book known = book();
    auto arguments = TRY(change(*known, session_.clock.floor_us()));
    if (arguments.empty()) return {};
    arguments.insert(arguments.begin(), {std::to_string(known->generation()), std::string(kFormat)});
    const std::string key(kLimitsKey);
    const auto reply = TRY(run_script(StoreScript::kDefine, {&key, 1}, arguments));
    if (reply.integer == 1) return refresh_book();
  }
  return too_busy();
}

Result<void> RedisStore::perform(const core::Define& define) {
  TRY(micros_of("period", define.limit.period().value_or(Duration())));
  LimitEntry probe = redefined({}, define.limit, 0);
  TRY(KnownLimit::make(std::move(probe)));
  bool has_new_revision = false;
  auto changed = change_definitions([&](const LimitBook& known, std::uint64_t now_us) -> Fields {
    // What its meters may be written in is not known, so it cannot be replaced either.
    if (const auto unreadable = known.unreadable(define.limit.name())) return *unreadable;
    const auto found = known.entries().find(define.limit.name());
    const LimitEntry before = found == known.entries().end() ? LimitEntry() : found->second;
    const LimitEntry after = redefined(before, define.limit, now_us);
    has_new_revision = before.definition && after.rev != before.rev;
    if (after == before) return std::vector<std::string>();
    return std::vector<std::string>{define.limit.name(), to_text(after)};
  });
  if (changed && has_new_revision) return keep_meters(define.limit.name());
  return changed;
}

Result<bool> RedisStore::perform(const core::Drop& drop) {
  bool is_dropped = false;
  TRY(change_definitions([&](const LimitBook& known, std::uint64_t now_us) -> Fields {
    if (const auto unreadable = known.unreadable(drop.name)) return *unreadable;
    is_dropped = known.find(drop.name) != nullptr;
    if (!is_dropped) return std::vector<std::string>();
    return std::vector<std::string>{std::string(drop.name), to_text(dropped(known.find(drop.name)->entry(), now_us))};
  }));
  if (is_dropped) has_leftovers_.store(true);
  return is_dropped;
}

Result<void> RedisStore::perform(const core::Clear& /*clear*/) {
  auto changed = change_definitions([](const LimitBook& known, std::uint64_t now_us) {
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

Result<std::optional<Limit>> RedisStore::perform(const core::FindLimit& find) {
  TRY(refresh_book_if_changed());
  const Book known = book();
  if (const auto unreadable = known->unreadable(find.name)) return *unreadable;
  const KnownLimit* limit = known->find(find.name);
  return limit == nullptr ? std::nullopt : std::optional(limit->definition());
}

std::optional<Limit> RedisStore::known_limit(std::string_view name) const {
  const Book known = book();
  const KnownLimit* limit = known->find(name);
  return limit == nullptr ? std::nullopt : std::optional(limit->definition());
}

Result<std::vector<std::string>> RedisStore::perform(const core::ListLimits& /*list*/) {
  TRY(refresh_book_if_changed());
  return book()->names();
}

Result<void> RedisStore::perform(const core::Override& change) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto looked = TRY(look_at(change.meter));
    if (!change.amount && !looked.images[0]->own_amount()) return {};
    looked.images[0]->set_own_amount(*looked.meters.list[0].limit, change.amount);
    const auto replaced = TRY(replace(looked));
    if (replaced) return {};
  }
  return too_busy();
}

Result<std::optional<Amount>> RedisStore::perform(const core::FindOverride& find) {
  const auto looked = TRY(look_at(find.meter));
  return looked.images[0]->own_amount();
}

}  // namespace mete::store::redis
