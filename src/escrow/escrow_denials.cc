// What the shared store decides, and what it denies: it may be here, or with other nodes, which have it as shares.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/try.h"
#include "escrow/escrow_store.h"

namespace mete::escrow {

namespace {

// Charges on one meter are one: they fit together or not at all.
Amount cost_on_meter(std::span<const Charge> charges, const Charge& charge) {
  Amount sum = 0;
  for (const Charge& each : charges) {
    if (each.limit == charge.limit && each.key == charge.key) sum += std::min(each.cost, kAmountMax);
  }
  return sum;
}

// The answer to an id from before says nothing of the present.
bool is_told_now(std::span<const Usage> usages) {
  return std::any_of(usages.begin(), usages.end(), [](const Usage& usage) { return usage.limit > 0; });
}

void forget_denial(core::Take& take) { take.remembers_denial = false; }
void forget_denial(core::Hold& hold) { hold.is_id_random = true; }
bool remembers_denial(const core::Take& take) { return take.remembers_denial && !take.id.empty(); }
bool remembers_denial(const core::Hold& hold) { return !hold.is_id_random; }

}  // namespace

template <class What>
Result<core::Verdict> EscrowStore::decided_or_admitted(const What& request, Result<core::Verdict> verdict) {
  const bool is_away = !verdict.has_value() && verdict.error().code == ErrorCode::kUnavailable;
  if constexpr (std::is_same_v<What, core::Take>) {
    if (is_away) return shared_->admit(request, verdict.error());
  }
  return verdict;
}

template <class What>
Result<core::Verdict> EscrowStore::decide_there(const What& request, const Split& split) {
  if (!split.is_shared_out()) return shared_->run(request);
  return decided_or_admitted(
      request, surely([&] { return split.drawn.empty() ? shared_->run(request) : decide_with_shares(request); }));
}

// A denial of an id is final: so it is asked for without that first.
template <class What>
Result<core::Verdict> EscrowStore::decide_with_shares(const What& request) {
  std::vector<Usage> usages(request.charges.size());
  What attempt = request;
  attempt.usages = usages;
  forget_denial(attempt);
  auto verdict = shared_->run(attempt);
  const bool is_denied = verdict.has_value() && !verdict->is_allowed && is_told_now(usages);
  if (is_denied && (bring_back(request.charges, *verdict, usages) || remembers_denial(request))) {
    attempt = request;
    attempt.usages = usages;
    verdict = shared_->run(attempt);
  }
  if (!verdict.has_value()) return verdict;
  if (is_told_now(usages)) std::copy_n(usages.begin(), request.usages.size(), request.usages.begin());
  return as_denied_here(*verdict, request.charges, usages);
}

template Result<core::Verdict> EscrowStore::decide_there(const core::Take& request, const Split& split);
template Result<core::Verdict> EscrowStore::decide_there(const core::Hold& request, const Split& split);

// It may leave the usage above the limit; then everything is denied, and so the share must not be spent any more.
Result<core::Verdict> EscrowStore::force_there(const core::Take& request, const Split& split) {
  if (!split.is_shared_out()) return shared_->run(request);
  const auto force = [&] {
    auto verdict = shared_->run(request);
    if (verdict.has_value() && verdict->remaining == 0) give_back(split.drawn.charges);
    return verdict;
  };
  return decided_or_admitted(request, surely(force));
}

void EscrowStore::give_back(std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    for (const Order& order : shares_.settle(meter_of(charge), clock_.now())) carrier_->carry_out(order);
  }
}

bool EscrowStore::can_come_back(const Charge& charge, const Usage& usage) {
  const auto definition = definitions_.known(charge.limit);
  if (!definition || !definition->is_drawn() || !goes_back(*definition->terms)) return false;
  const auto look = shares_.look(meter_of(charge), clock_.now());
  return usage.held > (look ? look->held : 0);
}

// Nobody is asked where some of what is denied cannot come back: all of it would be denied again.
bool EscrowStore::bring_back(std::span<const Charge> charges, const core::Verdict& denied,
                             std::span<const Usage> usages) {
  std::vector<const Charge*> here;
  std::vector<const Charge*> elsewhere;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!denied.is_violated_by(i)) continue;
    const Amount cost = cost_on_meter(charges, charges[i]);
    const auto definition = definitions_.known(charges[i].limit);
    const bool has_share = definition && definition->is_drawn() && goes_back(*definition->terms);
    const auto look = has_share ? shares_.look(meter_of(charges[i]), clock_.now()) : std::nullopt;
    const Amount usable = look ? look->usable : 0;
    const bool is_here = usages[i].remaining + usable >= cost;
    if (cost > usages[i].limit || (!is_here && !can_come_back(charges[i], usages[i]))) return false;
    if (usable > 0) here.push_back(&charges[i]);
    if (!is_here) elsewhere.push_back(&charges[i]);
  }
  std::vector<std::uint64_t> rounds;
  rounds.reserve(elsewhere.size());
  for (const Charge* charge : elsewhere) rounds.push_back(releases_.begin(meter_of(*charge)));
  for (const Charge* charge : here) give_back({charge, 1});
  bool is_back = !here.empty();
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const bool is_returned = rounds[i] > 0 && releases_.wait(meter_of(*elsewhere[i]), rounds[i]);
    is_back = is_back || is_returned;
  }
  return is_back;
}

// What does not come back by itself is looked at alone, or it would be told with the time of the shares beside it.
core::Verdict EscrowStore::as_denied_here(core::Verdict denied, std::span<const Charge> charges,
                                          std::span<const Usage> usages) {
  if (denied.is_allowed) return denied;
  Duration until_back;
  std::shared_ptr<const Definition> stock;
  std::vector<Charge> stays;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!denied.is_violated_by(i)) continue;
    const auto definition = definitions_.known(charges[i].limit);
    const bool is_drawn = definition && definition->is_drawn();
    Usage usage = usages[i];
    if (is_drawn && usage.limit == 0) usage = shared_->usage(meter_of(charges[i])).value_or(Usage());
    const bool fits = cost_on_meter(charges, charges[i]) <= usage.limit;
    if (is_drawn && fits && can_come_back(charges[i], usage)) {
      until_back = std::max(until_back, denied_for(*definition->terms, Duration::never(), true));
    } else {
      stays.push_back(charges[i]);
    }
    if (is_drawn && definition->terms->kind == Kind::kStock) stock = definition;
  }
  if (until_back > Duration() && !stays.empty()) {
    const auto alone = shared_->take({.charges = stays, .mode = Mode::kPeek});
    if (alone.has_value()) until_back = std::max(until_back, alone->retry_after);
  }
  if (until_back > Duration()) {
    denied.retry_after = std::min(denied.retry_after, until_back);
  } else if (stock != nullptr) {
    denied.retry_after = denied_for(*stock->terms, denied.retry_after, false);
  }
  return denied;
}

}  // namespace mete::escrow
