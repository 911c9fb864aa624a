#include <mete/limiter.h>

#include <algorithm>

#include "base/try.h"
#include "store/caller.h"
#include "store/host.h"
#include "store/one_charge.h"

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
  decision.violated_charges = verdict.violated;
}

bool uses_more(const KeyUsage& a, const KeyUsage& b) {
  return a.usage.used + a.usage.held > b.usage.used + b.usage.held;
}

}  // namespace

Limiter::Limiter(std::unique_ptr<store::Store> store)
    : host_(store::make_host(std::move(store)).release(), [](store::Host* host) { delete host; }) {}
Limiter::Limiter(store::Host& host, core::Execution& execution)
    : host_(&host, [](store::Host* /*host*/) {}), execution_(&execution) {}
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;
Limiter::~Limiter() = default;

store::OneCharge Limiter::one_charge(Text limit) const {
  store::Store& store = host_->store();
  return {store, store::embedded_for_clients(store, limit), execution_};
}

void Limiter::start_call(StartedCall& call) { host_->start(call); }

template <class Operation>
Result<typename Operation::Answer> Limiter::run(const Operation& operation) const {
  core::Execution alone;
  return store::run_for_client(host_->store(), operation, execution_ != nullptr ? *execution_ : alone);
}

Result<void> Limiter::define(const Limit& limit) {
  TRY(store::check_scope(host_->store(), limit));
  return run(core::Define{limit});
}

Result<bool> Limiter::drop(Text name) { return run(core::Drop{name}); }

Result<std::optional<Limit>> Limiter::find_limit(Text name) const { return run(core::FindLimit{name}); }

Result<std::vector<std::string>> Limiter::limits() const { return run(core::ListLimits()); }

Result<void> Limiter::override_amount(Text limit, Text key, Amount amount) {
  return run(core::Override{{limit, key}, amount});
}

Result<void> Limiter::clear_override(Text limit, Text key) { return run(core::Override{{limit, key}, std::nullopt}); }

bool Limiter::allow(Text limit, Text key, Amount cost) {
  const Charge charge = {limit, key, cost};
  return one_charge(limit).allow(charge, [&](const engine::Engine& engine) { return engine.hash_of(charge); });
}

Result<Decision> Limiter::take(std::span<const Charge> charges, const TakeOptions& options) {
  const bool is_plain = charges.size() == 1 && options.mode == Mode::kTake && options.id.empty();
  const auto by_name = [&](const engine::Engine& engine) { return engine.hash_of(charges[0]); };
  const auto verdict = TRY(is_plain ? one_charge(charges[0].limit).take(charges[0], by_name)
                                    : run(core::Take{.charges = charges, .mode = options.mode, .id = options.id}));
  Decision decision;
  describe(verdict, charges, decision);
  return decision;
}

LimitHandle Limiter::limit(Text name) const { return {host_->store(), execution_, name}; }

MeterHandle Limiter::meter(Text limit, Text key) const { return this->limit(limit).meter(key); }

Result<std::vector<Result<Decision>>> Limiter::take_each(std::span<const Charge> charges) {
  TRY(core::validate_takes_count(charges.size()));
  std::vector<Result<core::Verdict>> verdicts(charges.size());
  std::ignore = run(core::TakeEach{charges, verdicts});  // the same is in each answer
  std::vector<Result<Decision>> decisions(charges.size());
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!verdicts[i].has_value()) {
      decisions[i] = std::move(verdicts[i]).error();
    } else {
      describe(*verdicts[i], charges.subspan(i, 1), *decisions[i]);
    }
  }
  return decisions;
}

Result<Settlement> Limiter::give(std::span<const Charge> charges, Text id) { return run(core::Give{charges, id}); }

Result<HoldDecision> Limiter::hold(std::span<const Charge> charges, Duration ttl, const HoldOptions& options) {
  HoldDecision decision;
  const bool is_id_random = options.id.empty();
  decision.id = is_id_random ? host_->store().new_hold_id(charges) : std::string(options.id);
  const auto verdict = TRY(run(
      core::Hold{.charges = charges, .ttl = ttl, .id = decision.id, .is_id_random = is_id_random, .tag = options.tag}));
  describe(verdict, charges, decision);
  if (!decision.allowed() && is_id_random) decision.id.clear();
  return decision;
}

Result<Settlement> Limiter::commit(Text id, std::span<const Amount> amounts) {
  return run(core::Commit{.id = id, .amounts = amounts});
}

Result<Settlement> Limiter::commit_with_overage(Text id, std::span<const Amount> amounts) {
  return run(core::Commit{.id = id, .amounts = amounts, .allow_overage = true});
}

Result<Settlement> Limiter::cancel(Text id) { return run(core::Cancel{id}); }

Result<Duration> Limiter::extend(Text id, Duration ttl) { return run(core::Extend{id, ttl}); }

Result<std::optional<HoldInfo>> Limiter::find_hold(Text id) const { return run(core::FindHold{id}); }

Result<std::vector<std::string>> Limiter::holds(Text limit, Text key, std::size_t count_max) const {
  return run(core::ListHolds{{limit, key}, count_max});
}

Result<std::vector<std::string>> Limiter::holds_tagged(Text tag) const { return run(core::ListTagged{tag}); }

Result<Usage> Limiter::usage(Text limit, Text key) const { return run(core::ReadUsage{{limit, key}}); }

Result<Reconciliation> Limiter::reconcile(Text limit, Text key, Amount used) {
  return run(core::Reconcile{{limit, key}, used});
}

Result<UsagePage> Limiter::scan(Text limit, std::uint64_t cursor, std::size_t count) const {
  return run(core::ScanUsage{limit, cursor, count});
}

Result<std::vector<KeyUsage>> Limiter::top(Text limit, std::size_t count) const {
  constexpr std::size_t kPageKeys = 1000;
  std::vector<KeyUsage> heaviest;  // a heap with the lightest of them on top
  for (std::uint64_t cursor = 0;;) {
    auto page = TRY(scan(limit, cursor, kPageKeys));
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
