#include <mete/limiter.h>

#include <algorithm>

#include "base/try.h"
#include "store/store.h"

namespace mete {

namespace {

// Puts names to a verdict.
void describe(const core::Verdict& verdict, std::span<const Charge> charges, Decision& decision) {
  decision.is_allowed = verdict.is_allowed;
  decision.is_unrecorded = verdict.is_unrecorded;
  decision.taken = verdict.taken;
  decision.remaining = verdict.remaining;
  decision.limit = verdict.limit;
  decision.retry_after = verdict.retry_after;
  decision.reset_after = verdict.reset_after;
  const core::LimitNames names = core::violated_limits(charges, verdict);
  decision.violated.assign(names.begin(), names.end());
}

bool uses_more(const KeyUsage& a, const KeyUsage& b) {
  return a.usage.used + a.usage.held > b.usage.used + b.usage.held;
}

}  // namespace

Limiter::Limiter(std::unique_ptr<store::Store> store) : store_(std::move(store)) {}
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;
Limiter::~Limiter() = default;

Result<void> Limiter::define(const Limit& limit) {
  TRY(store::check_scope(*store_, limit));
  return store_->define(limit);
}

Result<bool> Limiter::drop(std::string_view name) { return store_->drop(name); }

Result<std::optional<Limit>> Limiter::limit(std::string_view name) const { return store_->limit(name); }

Result<std::vector<std::string>> Limiter::limits() const { return store_->limits(); }

Result<void> Limiter::override_amount(std::string_view limit, std::string_view key, Amount amount) {
  return store_->set_override({limit, key}, amount);
}

Result<void> Limiter::clear_override(std::string_view limit, std::string_view key) {
  return store_->set_override({limit, key}, std::nullopt);
}

Result<Decision> Limiter::take(std::span<const Charge> charges, const TakeOptions& options) {
  const auto verdict = TRY(store_->take({.charges = charges, .mode = options.mode, .id = options.id}));
  Decision decision;
  describe(verdict, charges, decision);
  return decision;
}

Result<Decision> Limiter::take(std::string_view limit, std::string_view key, Amount cost) {
  return take({{limit, key, cost}});
}

Result<Decision> Limiter::take(std::initializer_list<Charge> charges, const TakeOptions& options) {
  return take(std::span(charges.begin(), charges.size()), options);
}

Result<Decision> Limiter::peek(std::string_view limit, std::string_view key, Amount cost) {
  return take({{limit, key, cost}}, {.mode = Mode::kPeek});
}

Result<Decision> Limiter::peek(std::span<const Charge> charges) { return take(charges, {.mode = Mode::kPeek}); }

Result<Settlement> Limiter::give(std::string_view limit, std::string_view key, Amount cost) {
  return give({{limit, key, cost}});
}

Result<Settlement> Limiter::give(std::span<const Charge> charges, std::string_view id) {
  return store_->give(charges, id);
}

Result<Settlement> Limiter::give(std::initializer_list<Charge> charges, std::string_view id) {
  return give(std::span(charges.begin(), charges.size()), id);
}

Result<HoldDecision> Limiter::hold(std::span<const Charge> charges, Duration ttl, const HoldOptions& options) {
  HoldDecision decision;
  const bool is_id_random = options.id.empty();
  decision.id = is_id_random ? store_->new_hold_id(charges) : std::string(options.id);
  const auto verdict = TRY(store_->hold(
      {.charges = charges, .ttl = ttl, .id = decision.id, .is_id_random = is_id_random, .tag = options.tag}));
  describe(verdict, charges, decision);
  if (!decision.allowed() && is_id_random) decision.id.clear();
  return decision;
}

Result<HoldDecision> Limiter::hold(std::initializer_list<Charge> charges, Duration ttl, const HoldOptions& options) {
  return hold(std::span(charges.begin(), charges.size()), ttl, options);
}

Result<Settlement> Limiter::commit(std::string_view id) { return store_->commit({.id = id}); }

Result<Settlement> Limiter::commit(std::string_view id, Amount amount) { return commit(id, std::span(&amount, 1)); }

Result<Settlement> Limiter::commit(std::string_view id, std::span<const Amount> amounts) {
  return store_->commit({.id = id, .amounts = amounts});
}

Result<Settlement> Limiter::commit_with_overage(std::string_view id, std::span<const Amount> amounts) {
  return store_->commit({.id = id, .amounts = amounts, .allow_overage = true});
}

Result<Settlement> Limiter::cancel(std::string_view id) { return store_->cancel(id); }

Result<Duration> Limiter::extend(std::string_view id, Duration ttl) { return store_->extend(id, ttl); }

Result<std::optional<HoldInfo>> Limiter::find_hold(std::string_view id) const { return store_->find_hold(id); }

Result<std::vector<std::string>> Limiter::holds(std::string_view limit, std::string_view key,
                                                std::size_t count_max) const {
  return store_->holds({limit, key}, count_max);
}

Result<std::vector<std::string>> Limiter::holds_tagged(std::string_view tag) const { return store_->holds_tagged(tag); }

Result<Usage> Limiter::usage(std::string_view limit, std::string_view key) const { return store_->usage({limit, key}); }

Result<Reconciliation> Limiter::reconcile(std::string_view limit, std::string_view key, Amount used) {
  return store_->reconcile({limit, key}, used);
}

Result<UsagePage> Limiter::scan(std::string_view limit, std::uint64_t cursor, std::size_t count) const {
  return store_->scan(limit, cursor, count);
}

Result<std::vector<KeyUsage>> Limiter::top(std::string_view limit, std::size_t count) const {
  constexpr std::size_t kPageKeys = 1000;
  std::vector<KeyUsage> heaviest;  // a heap with the lightest of them on top
  for (std::uint64_t cursor = 0;;) {
    auto page = TRY(store_->scan(limit, cursor, kPageKeys));
    for (KeyUsage& key : page.keys) {
      heaviest.push_back(std::move(key));
      std::push_heap(heaviest.begin(), heaviest.end(), uses_more);
      if (heaviest.size() <= count) continue;
      std::pop_heap(heaviest.begin(), heaviest.end(), uses_more);
      heaviest.pop_back();
    }
    cursor = page.cursor;
    if (cursor == 0) break;
  }
  std::sort_heap(heaviest.begin(), heaviest.end(), uses_more);
  return heaviest;
}

}  // namespace mete
