#include "escrow/counters/counters.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/try.h"
#include "core/refusals.h"

namespace mete::escrow {

namespace {

using Limits = std::numeric_limits<std::int64_t>;

// The sum, kept within the bounds if it is to saturate; none if it is out of them.
std::optional<Int128> bounded_sum(Int128 value, const core::AddBounded& request) {
  const Int128 lower = request.lower.value_or(Limits::min());
  const Int128 upper = request.upper.value_or(Limits::max());
  const Int128 sum = value + request.by;
  if (request.saturate) return std::clamp(sum, lower, upper);
  if (sum < lower || sum > upper) return std::nullopt;
  return sum;
}

bool fits(Int128 value) { return value >= Limits::min() && value <= Limits::max(); }

}  // namespace

// The counter of a key, if there is one, and the ways to change it.
class Counters::Access {
 public:
  Access(const Counters& counters, Shard& shard, const CounterKey& key, Instant now)
      : counters_(counters), self_(counters.self_), shard_(shard), key_(key), now_(now), entry_(shard.find(key, now)) {}

  // An error if there is no counter of the key, and no room for one.
  [[nodiscard]] Result<void> make_room() const {
    if (entry_ != nullptr || counters_.remembered_ < counters_.counters_max_) return {};
    return Error{ErrorCode::kOutOfMemory,
                 "there are " + std::to_string(counters_.counters_max_) +
                     " counters already, which is the most that a node of a cluster keeps: delete some, or let them "
                     "expire"};
  }
  [[nodiscard]] bool is_live() const { return entry_ != nullptr && entry_->counter.is_live(now_); }
  [[nodiscard]] Int128 exact_value() const { return is_live() ? entry_->counter.exact_value() : 0; }
  [[nodiscard]] std::optional<std::int64_t> value() const {
    return is_live() ? std::optional(entry_->counter.value()) : std::nullopt;
  }
  [[nodiscard]] Instant expires_at() const { return is_live() ? entry_->counter.expiry.at : Instant::max(); }

  void remove() {
    if (!is_live()) return;
    shard_.update(*entry_, kNobody, [&](Counter& counter) { counter.remove(self_, now_); });
  }
  void set(std::int64_t value, Instant expires_at) {
    if (expires_at <= now_) return remove();
    change([&](Counter& counter) {
      counter.set(self_, value, now_);
      if (expires_at != Instant::max()) counter.expire_at(self_, expires_at, now_);
    });
  }
  // False if what this node has ever added to the counter would become too much.
  [[nodiscard]] bool add(std::int64_t by, Instant expires_at) {
    const Instant so_far = this->expires_at();
    bool is_added = false;
    change([&](Counter& counter) {
      is_added = counter.add(self_, by, now_);
      if (is_added && expires_at > now_ && expires_at != so_far) counter.expire_at(self_, expires_at, now_);
    });
    if (is_added && expires_at <= now_) remove();
    return is_added;
  }
  void expire(Instant at) {
    if (at <= now_) return remove();
    change([&](Counter& counter) { counter.expire_at(self_, at, now_); });
  }

 private:
  template <class Act>
  void change(Act act) {
    if (entry_ == nullptr) entry_ = &shard_.find_or_make(key_, now_);
    shard_.update(*entry_, kNobody, act);
  }

  const Counters& counters_;
  const Writer& self_;
  Shard& shard_;
  CounterKey key_;
  Instant now_;
  Shard::Entry* entry_;
};

Counters::Counters(Writer self, std::size_t counters_max) : self_(std::move(self)), counters_max_(counters_max) {
  for (Locked& locked : shards_) locked.shard.count_in(remembered_);
}

template <class Act>
auto Counters::with_key(std::string_view key, Instant now, Act act) {
  const CounterKey hashed{key, hash_of_key(key)};
  Locked& locked = shard_of(hashed);
  const std::lock_guard lock(locked.mutex);
  return act(Access(*this, locked.shard, hashed, now));
}

void Counters::expect(std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    const CounterKey hashed{key, hash_of_key(key)};
    Locked& locked = shard_of(hashed);
    const std::lock_guard lock(locked.mutex);
    locked.shard.prefetch(hashed.hash);
  }
}

std::optional<std::int64_t> Counters::get(std::string_view key, Instant now) {
  return with_key(key, now, [](const Access& access) { return access.value(); });
}

Result<core::SetAnswer> Counters::set(const core::SetCounter& request, Instant now) {
  return with_key(request.key, now, [&](Access access) -> Result<core::SetAnswer> {
    core::SetAnswer answer{.old = access.value()};
    const bool is_present = access.is_live();
    if (request.condition == core::SetCondition::kIfAbsent && is_present) return answer;
    if (request.condition == core::SetCondition::kIfPresent && !is_present) return answer;
    TRY(access.make_room());
    access.set(request.value, request.expiry.resolve(access.expires_at(), now));
    answer.is_set = true;
    return answer;
  });
}

std::optional<std::int64_t> Counters::take_out(std::string_view key, Instant now) {
  return with_key(key, now, [](Access access) {
    const std::optional<std::int64_t> value = access.value();
    access.remove();
    return value;
  });
}

Result<std::int64_t> Counters::add(std::string_view key, std::int64_t by, Instant now) {
  return with_key(key, now, [&](Access access) -> Result<std::int64_t> {
    TRY(access.make_room());
    return add_to(access, by);
  });
}

std::optional<Result<std::int64_t>> Counters::add_if_live(std::string_view key, std::int64_t by, Instant now) {
  return with_key(key, now,
                  [&](Access access) { return access.is_live() ? std::optional(add_to(access, by)) : std::nullopt; });
}

// What others added may have led past 64 bits already: then there is a way back, and none further.
Result<std::int64_t> Counters::add_to(Access& access, std::int64_t by) {
  const Int128 sum = access.exact_value() + by;
  if (by > 0 ? sum > Limits::max() : by < 0 && sum < Limits::min()) return core::counter_overflow();
  if (!access.add(by, access.expires_at())) return core::counter_overflow();
  return static_cast<std::int64_t>(std::clamp<Int128>(sum, Limits::min(), Limits::max()));
}

Result<core::BoundedSum> Counters::add_bounded(const core::AddBounded& request, Instant now) {
  return with_key(request.key, now, [&](Access access) -> Result<core::BoundedSum> {
    const std::optional<Int128> sum = bounded_sum(access.exact_value(), request);
    if (!sum) return core::BoundedSum{.value = access.value().value_or(0), .applied = 0};
    TRY(access.make_room());
    // A counter far outside the bounds may saturate further than a number can tell.
    const Int128 applied = *sum - access.exact_value();
    if (!fits(applied)) return core::counter_overflow();
    const bool keeps = request.expiry_only_if_none && access.expires_at() != Instant::max();
    const core::Expiry& expiry = keeps ? core::Expiry::keep() : request.expiry;
    const core::BoundedSum answer{.value = static_cast<std::int64_t>(*sum),
                                  .applied = static_cast<std::int64_t>(applied)};
    if (!access.add(answer.applied, expiry.resolve(access.expires_at(), now))) return core::counter_overflow();
    return answer;
  });
}

core::KeyType Counters::type(std::string_view key, Instant now) {
  return with_key(
      key, now, [](const Access& access) { return access.is_live() ? core::KeyType::kCounter : core::KeyType::kNone; });
}

bool Counters::remove(std::string_view key, Instant now) { return take_out(key, now).has_value(); }

std::optional<Instant> Counters::expires_at(std::string_view key, Instant now) {
  return with_key(key, now, [](const Access& access) {
    return access.is_live() ? std::optional(access.expires_at()) : std::nullopt;
  });
}

bool Counters::expire(std::string_view key, const core::Expiry& expiry, core::ExpiryCondition condition, Instant now) {
  return with_key(key, now, [&](Access access) {
    if (!access.is_live()) return false;
    const Instant at = expiry.resolve(access.expires_at(), now);
    if (!core::is_met(condition, access.expires_at(), at)) return false;
    access.expire(at);
    return true;
  });
}

bool Counters::persist(std::string_view key, Instant now) {
  return expire(key, core::Expiry::none(), core::ExpiryCondition::kIfAny, now);
}

}  // namespace mete::escrow
