#include "engine/keys.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "base/check.h"
#include "base/hash.h"
#include "base/try.h"
#include "core/refusals.h"
#include "engine/key_access.h"

namespace mete::engine {

namespace {

constexpr Space kKeySpace(EntryType::kKey, 0);
// Keys and meters must not share hashes: seeds apart.
constexpr std::uint64_t kKeySeed = 0x6b6579736b657973;

constexpr std::uint8_t payload_size(KeyType type) {
  return type == KeyType::kCounter ? sizeof(CounterRecord) : sizeof(RuledRecord);
}

// The sum, kept within the bounds if it is to saturate; none if it is out of them.
std::optional<std::int64_t> bounded_sum(std::int64_t value, const core::AddBounded& request) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::int64_t lower = request.lower.value_or(Limits::min());
  const std::int64_t upper = request.upper.value_or(Limits::max());
  std::int64_t sum = 0;
  const bool is_overflow = __builtin_add_overflow(value, request.by, &sum);
  if (is_overflow) sum = request.by < 0 ? Limits::min() : Limits::max();
  if (request.saturate) return std::clamp(sum, lower, upper);
  if (is_overflow || sum < lower || sum > upper) return std::nullopt;
  return sum;
}

}  // namespace

Keys::Keys(Parts parts, std::uint64_t seed)
    : memory_(parts.memory),
      keyspace_(parts.keyspace),
      rules_(parts.rules),
      floor_(parts.floor),
      recorder_(parts.recorder),
      evict_(std::move(parts.evict)),
      seed_(seed ^ kKeySeed) {}

std::uint64_t Keys::hash_of(std::string_view key) const { return base::hash_bytes(key, seed_); }

void Keys::prefetch(std::span<const std::string_view> keys) const {
  std::array<std::uint64_t, kTogetherMax> hashes{};
  keys = keys.first(std::min(kTogetherMax, keys.size()));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes[i] = hash_of(keys[i]);
    keyspace_.prefetch_bucket(hashes[i]);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) keyspace_.prefetch_entry(hashes[i]);
}

// As Engine::take_each.
void Keys::each(const core::KeysEach& keys, Instant now) {
  std::array<std::uint64_t, kTogetherMax> hashes;  // NOLINT(cppcoreguidelines-pro-type-member-init): written here
  for (std::size_t first = 0; first < keys.steps.size(); first += kTogetherMax) {
    const core::KeysEach together = keys.part(first, kTogetherMax);
    for (std::size_t i = 0; i < together.steps.size(); ++i) {
      hashes[i] = hash_of(core::key_of(together.steps[i]));
      keyspace_.prefetch_bucket(hashes[i]);
    }
    for (std::size_t i = 0; i < together.steps.size(); ++i) keyspace_.prefetch_entry(hashes[i]);
    const std::uint64_t* hash = hashes.data();
    together.answer_by([&](const auto& step) { return perform(step, *hash++, now); });
  }
}

Keys::Access Keys::find(const Keyspace::Guard& guard, std::uint64_t hash, std::string_view key, Occasion at) const {
  Access access;
  access.hash = hash;
  access.key = key;
  access.now = floor_.at_least(at.now);
  access.ticket = at.ticket;
  if (Entry* entry = guard.find(kKeySpace, key)) load(access, *entry);
  return access;
}

void Keys::load(Access& access, Entry& entry) {
  access.entry = &entry;
  access.type = type_of(entry);
  if (access.type == KeyType::kCounter) {
    access.counter = entry.load<CounterRecord>();
  } else {
    const auto record = entry.load<RuledRecord>();
    access.rule = record.rule;
    std::memcpy(static_cast<void*>(&access.state), record.state.data(), sizeof record.state);
    access.moment = access.rule->moment(access.state, access.now);
    core::settle(access.rule->rule(), access.state, access.moment);
  }
}

void Keys::forget_if_gone(Access& access) {
  if (!access.has_gone()) return;
  floor_.raise(access.now);  // whoever comes next, with an older time, must not go back to before it went
  // Time will not do it again to what was told last: that may have had another expiry, or another rule.
  if ((access.entry->flags & kIsUnrecorded) != 0) {
    recorder_.tell(KeyChange{.key = access.entry->key()}, Durable::kEverySecond);
  }
  forget(*access.entry);
  access.entry = nullptr;
  access.type = KeyType::kNone;
  access.counter = {};
}

bool Keys::make(Access& access, KeyType type) {
  // What replaces another one is in use already, so the memory ceiling does not count.
  const auto ceiling = access.entry == nullptr ? Slab::Ceiling::kObey : Slab::Ceiling::kIgnore;
  Entry* entry = keyspace_.insert(access.hash, kKeySpace, access.key, payload_size(type), ceiling);
  if (entry == nullptr) return false;
  entry->flags = static_cast<std::uint8_t>(type);
  if (access.entry != nullptr) forget(*access.entry);
  access.entry = entry;
  access.type = type;
  return true;
}

// The counter as it shall be: made if there is none, gone if its time is over.
Result<void> Keys::write_counter(Access& access, std::int64_t value, Instant expires_at) {
  if (expires_at <= access.now) {
    if (access.entry != nullptr) forget_and_tell(access);
    return {};
  }
  if (access.type != KeyType::kCounter && !make(access, KeyType::kCounter)) {
    return memory_.out_of_memory();
  }
  const CounterRecord record{value, expires_at};
  count_expiring(access.counter.is_expiring(), record.is_expiring());
  access.entry->store(record);
  tell(access);
  return {};
}

void Keys::tell(const Access& access) const {
  if (!recorder_.is_on()) return;
  const Occasion at(access.now, access.ticket);
  if (access.entry == nullptr) {
    at.note(recorder_.tell(KeyChange{.key = access.key}, access.durable));
  } else if (access.durable == Durable::kAlways) {
    at.note(recorder_.tell(change_of(*access.entry), access.durable));
  } else {
    recorder_.tell_soon(*access.entry, access.hash, [&] { return change_of(*access.entry); });
  }
}

void Keys::forget_and_tell(Access& access) {
  if (access.type == KeyType::kQuota) access.durable = Durable::kAlways;  // a definition that goes
  forget(*access.entry);
  access.entry = nullptr;
  tell(access);
}

KeyChange Keys::change_of(const Entry& entry) {
  KeyChange change{.key = entry.key(), .type = type_of(entry)};
  if (change.type == KeyType::kCounter) {
    const auto record = entry.load<CounterRecord>();
    change.value = record.value;
    change.expires_at = record.expires_at;
  } else {
    change.rule = entry.load<RuledRecord>().rule->rule();
    change.state = {entry.payload() + offsetof(RuledRecord, state), sizeof(RuledRecord::state)};
  }
  return change;
}

// The memory ceiling does not count: what was acknowledged stays.
void Keys::restore(const KeyChange& change) {
  Access access;
  access.hash = hash_of(change.key);
  access.key = change.key;
  const Keyspace::Guard guard(keyspace_, access.hash);
  if (Entry* old = keyspace_.find(access.hash, kKeySpace, change.key)) forget(*old);
  if (change.type == KeyType::kNone) return;
  access.entry =
      keyspace_.insert(access.hash, kKeySpace, change.key, payload_size(change.type), Slab::Ceiling::kIgnore);
  CHECK(access.entry != nullptr);
  access.entry->flags = static_cast<std::uint8_t>(change.type);
  if (change.type == KeyType::kCounter) {
    const CounterRecord record{change.value, change.expires_at};
    count_expiring(false, record.is_expiring());
    access.entry->store(record);
    return;
  }
  count_expiring(false, change.type == KeyType::kThrottle);
  access.rule = rules_.acquire(change.rule);
  std::memcpy(static_cast<void*>(&access.state), change.state.data(), change.state.size());
  write(access);
}

void Keys::count_expiring(bool before, bool after) {
  if (before != after) expiring_.fetch_add(after ? 1 : static_cast<std::size_t>(-1), std::memory_order_relaxed);
}

void Keys::forget(Entry& entry) {
  const KeyType type = type_of(entry);
  if (type == KeyType::kCounter) {
    count_expiring(entry.load<CounterRecord>().is_expiring(), false);
  } else {
    count_expiring(type == KeyType::kThrottle, false);
    rules_.release(entry.load<RuledRecord>().rule);
  }
  keyspace_.erase(entry.hash_low, &entry);
}

void Keys::sweep(Entry& entry, Instant now) {
  Access access;
  access.now = now;
  load(access, entry);
  forget_if_gone(access);
}

Result<std::optional<std::int64_t>> Keys::get(std::string_view key, Instant now) {
  return with_key(key, now, [](const Access& access) -> Result<std::optional<std::int64_t>> {
    switch (access.type) {
      case KeyType::kNone:
        return std::nullopt;
      case KeyType::kCounter:
        return access.counter.value;
      case KeyType::kQuota:
        return core::remaining(access.rule->rule(), access.state, access.moment);
      case KeyType::kThrottle:
        return core::wrong_type();
    }
    __builtin_unreachable();
  });
}

Result<core::SetAnswer> Keys::set(const core::SetCounter& request, Occasion at) {
  const auto attempt = [&](Access& access) -> Result<core::SetAnswer> {
    if (request.wants_old && !access.is_counter_or_none()) return core::wrong_type();
    core::SetAnswer answer;
    if (access.type == KeyType::kCounter) answer.old = access.counter.value;
    const bool is_present = access.type != KeyType::kNone;
    if (request.condition == core::SetCondition::kIfAbsent && is_present) return answer;
    if (request.condition == core::SetCondition::kIfPresent && !is_present) return answer;
    answer.is_out_of_reach = !core::is_within(request.reach, access.type);
    if (answer.is_out_of_reach) return answer;
    if (access.type == KeyType::kQuota) access.durable = Durable::kAlways;  // a definition that goes
    const Instant expires_at = request.expiry.resolve(access.counter.expires_at, access.now);
    TRY(write_counter(access, request.value, expires_at));
    answer.is_set = true;
    return answer;
  };
  return with_room(at.now, [&] { return with_key(request.key, at, attempt); });
}

Result<std::optional<std::int64_t>> Keys::take_out(std::string_view key, Instant now) {
  return with_key(key, now, [this](Access& access) -> Result<std::optional<std::int64_t>> {
    if (!access.is_counter_or_none()) return core::wrong_type();
    if (access.type == KeyType::kNone) return std::nullopt;
    forget_and_tell(access);
    return access.counter.value;
  });
}

Result<std::int64_t> Keys::perform(const core::AddToCounter& request, std::uint64_t hash, Instant now) {
  const auto attempt = [&](Access& access) -> Result<std::int64_t> {
    if (access.type == KeyType::kQuota) return consume(access, request.by);
    if (access.type == KeyType::kThrottle) return core::wrong_type();
    std::int64_t sum = 0;
    if (__builtin_add_overflow(access.counter.value, request.by, &sum)) return core::counter_overflow();
    TRY(write_counter(access, sum, access.counter.expires_at));
    return sum;
  };
  return with_room(now, [&] { return with_key(hash, request.key, now, attempt); });
}

Result<core::BoundedSum> Keys::perform(const core::AddBounded& request, std::uint64_t hash, Instant now) {
  const auto attempt = [&](Access& access) -> Result<core::BoundedSum> {
    if (!access.is_counter_or_none()) return core::wrong_type();
    core::BoundedSum answer{.value = access.counter.value, .applied = 0};
    const std::optional<std::int64_t> sum = bounded_sum(access.counter.value, request);
    if (!sum) return answer;
    // A counter far outside the bounds may saturate further than a number can tell.
    if (__builtin_sub_overflow(*sum, access.counter.value, &answer.applied)) return core::counter_overflow();
    answer.value = *sum;
    const bool keeps = request.expiry_only_if_none && access.counter.is_expiring();
    const core::Expiry& expiry = keeps ? core::Expiry::keep() : request.expiry;
    const Instant expires_at = expiry.resolve(access.counter.expires_at, access.now);
    TRY(write_counter(access, *sum, expires_at));
    return answer;
  };
  return with_room(now, [&] { return with_key(hash, request.key, now, attempt); });
}

KeyType Keys::type(std::string_view key, Instant now) {
  return with_key(key, now, [](const Access& access) { return access.type; });
}

bool Keys::remove(std::string_view key, core::KeyReach reach, Occasion at) {
  return with_key(key, at, [&](Access& access) {
    if (access.entry == nullptr || !core::is_within(reach, access.type)) return false;
    forget_and_tell(access);
    return true;
  });
}

std::optional<Instant> Keys::expires_at(std::string_view key, Instant now) {
  return with_key(key, now, [](const Access& access) -> std::optional<Instant> {
    switch (access.type) {
      case KeyType::kNone:
        return std::nullopt;
      case KeyType::kCounter:
        return access.counter.expires_at;
      case KeyType::kQuota:
        return Instant::max();
      case KeyType::kThrottle: {
        const Duration left = core::reset_after(access.rule->rule(), access.state, access.moment);
        return left.is_never() ? Instant::max() : access.now + left;
      }
    }
    __builtin_unreachable();
  });
}

Result<bool> Keys::expire(std::string_view key, const core::Expiry& expiry, core::ExpiryCondition condition,
                          Instant now) {
  return with_key(key, now, [&](Access& access) -> Result<bool> {
    if (access.type == KeyType::kNone) return false;
    if (access.type != KeyType::kCounter) return core::no_expiry(access.type);
    const Instant expires_at = expiry.resolve(access.counter.expires_at, access.now);
    if (!core::is_met(condition, access.counter.expires_at, expires_at)) return false;
    const auto written = write_counter(access, access.counter.value, expires_at);
    CHECK(written.has_value());  // a counter that is there needs no memory
    return true;
  });
}

Result<bool> Keys::persist(std::string_view key, Instant now) {
  return with_key(key, now, [this](Access& access) -> Result<bool> {
    if (access.type == KeyType::kThrottle) return core::no_expiry(access.type);
    if (access.type != KeyType::kCounter || !access.counter.is_expiring()) return false;
    const auto written = write_counter(access, access.counter.value, Instant::max());
    CHECK(written.has_value());  // a counter that is there needs no memory
    return true;
  });
}

core::KeyPage Keys::scan(std::uint64_t cursor, std::size_t count, Instant now) {
  core::KeyPage page;
  const Instant at = floor_.at_least(now);
  const auto is_full = [&] { return page.keys.size() >= count; };
  page.cursor = keyspace_.visit_page(cursor, is_full, [&](Entry& entry) {
    if (entry.space.type() != EntryType::kKey) return;
    Access access;
    access.now = at;
    load(access, entry);
    forget_if_gone(access);
    if (access.type != KeyType::kNone) page.keys.push_back({std::string(entry.key()), access.type});
  });
  return page;
}

}  // namespace mete::engine
