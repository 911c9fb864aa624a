// Taking: from shares, in one of the two stores, or in parts.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/random.h"
#include "base/try.h"
#include "escrow/escrow_store.h"

namespace mete::escrow {

namespace {

constexpr Duration kPatience = std::chrono::seconds(5);  // for a draw
constexpr Duration kApartTtl = std::chrono::minutes(1);  // of a hold that lasts for one operation

store::MeterName meter_of(const Charge& charge) { return {charge.limit, charge.key}; }

void tell_usage(const core::Verdict& verdict, std::span<Usage> usages) {
  for (Usage& usage : usages) {
    usage = {.used = verdict.limit - verdict.remaining,
             .held = 0,
             .remaining = verdict.remaining,
             .limit = verdict.limit,
             .reset_after = verdict.reset_after};
  }
}

// An answer to some charges of an operation, which stand there at these places.
core::Verdict placed(core::Verdict verdict, std::span<const std::size_t> places) {
  std::uint16_t violated = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (verdict.is_violated_by(i)) violated = static_cast<std::uint16_t>(violated | 1U << places[i]);
  }
  verdict.violated = violated;
  return verdict;
}

// The answer to some charges, placed. `is_shadow`: none of their limits denies anything.
struct Told {
  core::Verdict verdict;
  bool is_shadow = false;
};

// The part with the least remaining stands for the whole; limits that deny nothing say nothing beside others.
Told merged(const Told& a, const Told& b) {
  const bool is_b_told = a.is_shadow == b.is_shadow ? b.verdict.remaining < a.verdict.remaining : a.is_shadow;
  Told whole{is_b_told ? b.verdict : a.verdict, a.is_shadow && b.is_shadow};
  whole.verdict.is_allowed = a.verdict.is_allowed && b.verdict.is_allowed;
  whole.verdict.is_unrecorded = whole.verdict.is_allowed && (a.verdict.is_unrecorded || b.verdict.is_unrecorded);
  whole.verdict.violated = static_cast<std::uint16_t>(a.verdict.violated | b.verdict.violated);
  whole.verdict.taken = whole.verdict.is_allowed ? a.verdict.taken + b.verdict.taken : 0;
  whole.verdict.retry_after = std::max(a.verdict.retry_after, b.verdict.retry_after);
  return whole;
}

core::Verdict merged(std::span<const Told> parts) {
  Told whole = parts[0];
  for (const Told& part : parts.subspan(1)) whole = merged(whole, part);
  return whole.verdict;
}

std::vector<Charge> without_cost(std::span<const Charge> charges) {
  std::vector<Charge> free(charges.begin(), charges.end());
  for (Charge& charge : free) charge.cost = 0;
  return free;
}

// More than can be counted never fits.
core::Verdict turned_down_for_ever(core::Verdict standing) {
  standing.is_allowed = false;
  standing.violated = 1;
  standing.taken = 0;
  standing.retry_after = Duration::never();
  return standing;
}

Result<core::Verdict> told(Result<core::Verdict> verdict, std::span<Usage> usages) {
  if (verdict.has_value()) tell_usage(*verdict, usages);
  return verdict;
}

}  // namespace

Result<core::Verdict> EscrowStore::perform(const core::Take& take, store::Execution& execution) {
  const Charge& first = take.charges[0];
  const bool is_plain = take.charges.size() == 1 && take.mode == Mode::kTake && take.id.empty();
  Result<core::Verdict> answer;
  if (is_plain && take_at_once(first, clock_.now(), answer, execution)) {
    if (answer.has_value()) tell_usage(*answer, take.usages);
    return answer;
  }
  if (definitions_.count_here(take.charges) == take.charges.size()) return local_->run(take, execution);
  const auto parts = split(take.charges);
  if (!parts) return where_remembered(parts.error(), take, execution);
  // One with an id is remembered, even if it takes nothing.
  const bool is_look = take.charges.size() == 1 && first.cost == 0 && take.id.empty();
  const bool is_peek = take.mode == Mode::kPeek || is_look;
  if (is_peek) return told(peek_all(*parts, false, execution), take.usages);
  const bool is_for_shared = !take.id.empty() || take.mode == Mode::kForce || parts->drawn.empty();
  if (parts->here.empty() && is_for_shared) return take_there(take, parts->drawn);
  const bool is_one_share = take.charges.size() == 1 && !parts->drawn.empty();
  return told(is_one_share ? take_from_share(*parts->drawn.definitions[0], first, take.mode, execution)
                           : take_apart(take, *parts, execution),
              take.usages);
}

// The clock is read once for all, and again only after one that had to wait.
Result<void> EscrowStore::perform(const core::TakeEach& takes, store::Execution& execution) {
  Instant now = clock_.now();
  for (std::size_t i = 0; i < takes.charges.size();) {
    if (const auto here = definitions_.count_here(takes.charges.subspan(i)); here > 0) {
      TRY(local_->run(core::TakeEach{takes.charges.subspan(i, here), takes.answers.subspan(i, here)}, execution));
      i += here;
    } else if (take_at_once(takes.charges[i], now, takes.answers[i], execution)) {
      // Those that follow are of the same limit, most likely: they are asked for their share first.
      ++i;
      while (i < takes.charges.size() && take_at_once(takes.charges[i], now, takes.answers[i], execution)) ++i;
    } else {
      takes.answers[i] = perform(core::Take{.charges = takes.charges.subspan(i, 1)}, execution);
      now = clock_.now();
      ++i;
    }
  }
  return {};
}

Result<EscrowStore::Split> EscrowStore::split(std::span<const Charge> charges) {
  Split split;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    auto definition = TRY(definitions_.find(charges[i].limit));
    Part& part = definition->is_here() ? split.here : definition->is_drawn() ? split.drawn : split.there;
    part.charges.push_back(charges[i]);
    part.places.push_back(i);
    part.definitions.push_back(std::move(definition));
  }
  return split;
}

bool EscrowStore::Part::is_shadow() const {
  return std::all_of(definitions.begin(), definitions.end(),
                     [](const auto& definition) { return definition->limit.is_shadow(); });
}

// --- From a share ----------------------------------------------------------------------------------------------------

bool EscrowStore::take_at_once(const Charge& charge, Instant now, Result<core::Verdict>& answer,
                               store::Execution& execution) {
  Shares::Taking taking;
  if (charge.cost == 0 || !shares_.take_at_once(meter_of(charge), charge.cost, now, taking)) return false;
  if (taking.order) carrier_->carry_out_later(std::move(*taking.order));
  answer = taking.verdict;
  if (auto ok = note_spent(taking, charge, execution); !ok) answer = ok.error();
  return true;
}

Result<core::Verdict> EscrowStore::take_from_share(const Definition& definition, const Charge& charge, Mode mode,
                                                   store::Execution& execution) {
  if (charge.cost > kAmountMax) return peek_share(charge);
  const Instant deadline = clock_.now() + kPatience;
  for (bool has_waited = false;; has_waited = true) {
    const Instant now = clock_.now();
    Shares::Taking taking = shares_.take(meter_of(charge), definition.terms, charge.cost, mode, now, has_waited);
    if (taking.outcome == Share::Outcome::kAsk) return ask(definition, charge, *taking.order, mode);
    if (taking.order) carrier_->carry_out_later(std::move(*taking.order));
    if (taking.outcome == Share::Outcome::kDecided) {
      TRY(note_spent(taking, charge, execution));
      return taking.verdict;
    }
    if (taking.outcome == Share::Outcome::kFailed) return fail(definition, charge, taking.failure);
    const std::chrono::nanoseconds left((deadline - now).ns());
    if (left.count() <= 0 || !shares_.wait_for_change(meter_of(charge), taking.change, left)) {
      return fail(definition, charge, base::unavailable("the shared store has not answered in time"));
    }
  }
}

// On this thread: nobody else waits for it.
Result<core::Verdict> EscrowStore::ask(const Definition& definition, const Charge& charge, const Order& order,
                                       Mode mode) {
  if (const auto reason = carrier_->halted()) return fail(definition, charge, *reason);
  const Charge asked{charge.limit, charge.key, order.amount};
  auto verdict = shared_->closed().take({.charges = {&asked, 1}, .mode = mode});
  shares_.finish(order, verdict.map([](const core::Verdict& told) { return OrderAnswer{.verdict = told}; }),
                 clock_.now());
  return verdict.has_value() ? verdict : fail(definition, charge, verdict.error());
}

Result<void> EscrowStore::note_spent(const Shares::Taking& taking, const Charge& charge, store::Execution& execution) {
  if (!taking.is_stock || !taking.verdict.is_allowed) return {};
  return book_.spend(meter_of(charge), taking.verdict.taken, execution);
}

Result<core::Verdict> EscrowStore::fail(const Definition& definition, const Charge& charge, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return error;
  return shared_->admit({.charges = {&charge, 1}},
                        base::unavailable("this node's share of limit '" + definition.limit.name() +
                                          "' is used up, and no more can be drawn: " + error.message));
}

// Charges on one meter are one: they fit together or not at all.
EscrowStore::Part EscrowStore::joined(const Part& part) {
  Part whole;
  for (std::size_t i = 0; i < part.charges.size(); ++i) {
    const Charge& charge = part.charges[i];
    const auto is_same = [&](const Charge& other) { return other.limit == charge.limit && other.key == charge.key; };
    const auto found = std::find_if(whole.charges.begin(), whole.charges.end(), is_same);
    if (found != whole.charges.end()) {
      found->cost += charge.cost;
      continue;
    }
    whole.charges.push_back(charge);
    whole.places.push_back(part.places[i]);
    whole.definitions.push_back(part.definitions[i]);
  }
  return whole;
}

Result<core::Verdict> EscrowStore::take_shares(const Part& several, store::Execution& execution) {
  const Part drawn = joined(several);
  std::vector<Told> parts;
  std::optional<Error> failure;
  for (std::size_t i = 0; i < drawn.charges.size() && !failure; ++i) {
    const Charge& charge = drawn.charges[i];
    const auto verdict =
        charge.cost == 0 ? peek_share(charge) : take_from_share(*drawn.definitions[i], charge, Mode::kTake, execution);
    if (!verdict.has_value()) {
      failure = verdict.error();
    } else {
      parts.push_back({placed(*verdict, {&drawn.places[i], 1})});
    }
  }
  const bool is_allowed =
      !failure && std::all_of(parts.begin(), parts.end(), [](const Told& part) { return part.verdict.is_allowed; });
  for (std::size_t i = 0; i < parts.size() && !is_allowed; ++i) {
    const core::Verdict& taken = parts[i].verdict;
    if (taken.is_allowed && !taken.is_unrecorded) parts[i].verdict = undo_share(drawn.charges[i], execution);
  }
  if (failure) return *failure;
  return merged(parts);
}

// Tells how things stand without it, as far as is known here.
core::Verdict EscrowStore::undo_share(const Charge& charge, store::Execution& execution) {
  const store::MeterName meter = meter_of(charge);
  if (charge.cost == 0) return shares_.standing(meter, clock_.now());
  const Shares::Undone undone = shares_.unspend(meter, charge.cost);
  // Best effort, of the two that follow: what does not come back is used until its window ends.
  if (undone.is_stock) static_cast<void>(book_.unspend(meter, undone.units, execution));
  const Charge rest{charge.limit, charge.key, charge.cost - undone.units};
  if (rest.cost > 0) {
    const auto given = shared_->give({&rest, 1}, {});
    if (given) shares_.know(meter, {given->remaining, given->limit}, clock_.now());
  }
  return shares_.standing(meter, clock_.now());
}

core::Verdict EscrowStore::undo_shares(const Part& several, store::Execution& execution) {
  const Part drawn = joined(several);
  std::vector<Told> parts;
  for (const Charge& charge : drawn.charges) parts.push_back({undo_share(charge, execution)});
  return merged(parts);
}

// What the share has need not be asked for.
Result<core::Verdict> EscrowStore::peek_share(const Charge& charge) {
  if (charge.cost > kAmountMax) {
    return peek_share({charge.limit, charge.key, 0}).map(turned_down_for_ever);
  }
  const auto look = shares_.look(meter_of(charge), clock_.now());
  const Amount here = look ? look->usable : 0;
  const Charge missing{charge.limit, charge.key, std::max<Amount>(0, charge.cost - here)};
  auto verdict = TRY(shared_->take({.charges = {&missing, 1}, .mode = Mode::kPeek}));
  // It tells what remains after a peek's charge.
  const Amount from_here = std::min(here, charge.cost);
  verdict.remaining = std::min(verdict.limit, verdict.remaining + here - from_here);
  if (verdict.is_allowed) verdict.taken = charge.cost;
  return verdict;
}

// --- In the shared store ---------------------------------------------------------------------------------------------

// What is missing there may be here. A take by force may leave the usage above the limit; then everything is denied,
// and so the share must not be spent any more.
Result<core::Verdict> EscrowStore::take_there(const store::Take& request, const Part& drawn) {
  if (drawn.empty()) return shared_->take(request);
  if (request.mode == Mode::kForce) {
    auto verdict = shared_->take(request);
    if (verdict.has_value() && verdict->remaining == 0) give_back(drawn.charges);
    return verdict;
  }
  store::Take attempt = request;
  attempt.remembers_denial = false;
  auto verdict = shared_->take(attempt);
  if (!verdict.has_value() || verdict->is_allowed) return verdict;
  give_back(drawn.charges);
  return shared_->take(request);
}

void EscrowStore::give_back(std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    for (const Order& order : shares_.settle(meter_of(charge), clock_.now())) carrier_->carry_out(order);
  }
}

// --- In parts --------------------------------------------------------------------------------------------------------

// Where the whole is denied, by these or by others, those that fit tell how things stand without it.
Result<core::Verdict> EscrowStore::peek_all(const Split& split, bool is_denied, store::Execution& execution) {
  std::vector<Piece> pieces;
  const Part drawn = joined(split.drawn);
  for (std::size_t i = 0; i < drawn.charges.size(); ++i) {
    pieces.push_back({nullptr, {&drawn.charges[i], 1}, {&drawn.places[i], 1}});
  }
  store::Store* const shared = shared_.get();
  for (const auto& [part, store] : {std::pair(&split.here, local_.get()), std::pair(&split.there, shared)}) {
    if (!part->empty()) pieces.push_back({store, part->charges, part->places, part->is_shadow()});
  }
  std::vector<Told> parts;
  for (const Piece& piece : pieces) {
    const auto verdict = TRY(peek_piece(piece, piece.charges, execution));
    is_denied = is_denied || !verdict.is_allowed;
    parts.push_back({placed(verdict, piece.places), piece.is_shadow});
  }
  for (std::size_t i = 0; i < pieces.size() && is_denied; ++i) {
    if (!parts[i].verdict.is_allowed) continue;
    const std::uint16_t violated = parts[i].verdict.violated;  // of limits that deny nothing
    parts[i].verdict = TRY(peek_piece(pieces[i], without_cost(pieces[i].charges), execution));
    parts[i].verdict.violated = violated;
  }
  return merged(parts);
}

Result<core::Verdict> EscrowStore::peek_piece(const Piece& piece, std::span<const Charge> charges,
                                              store::Execution& execution) {
  if (piece.store == nullptr) return peek_share(charges[0]);
  return piece.store->run(core::Take{.charges = charges, .mode = Mode::kPeek}, execution);
}

// What is not decided here alone. With an id, or by force, all of it there.
Result<core::Verdict> EscrowStore::take_elsewhere(const store::Take& request, const Split& split,
                                                  store::Execution& execution) {
  if (!request.id.empty() || request.mode == Mode::kForce) {
    Part all = split.there;
    all.charges.insert(all.charges.end(), split.drawn.charges.begin(), split.drawn.charges.end());
    all.places.insert(all.places.end(), split.drawn.places.begin(), split.drawn.places.end());
    return take_there({.charges = all.charges, .mode = request.mode, .id = request.id}, split.drawn)
        .map([&](const core::Verdict& verdict) { return placed(verdict, all.places); });
  }
  if (split.drawn.empty()) {
    return shared_->take({.charges = split.there.charges}).map([&](const core::Verdict& verdict) {
      return placed(verdict, split.there.places);
    });
  }
  auto from_shares = TRY(take_shares(split.drawn, execution));
  if (split.there.empty()) return from_shares;
  if (!from_shares.is_allowed) {
    Split there;
    there.there = split.there;
    const auto peeked = TRY(peek_all(there, true, execution));
    return merged({from_shares}, {peeked, split.there.is_shadow()}).verdict;
  }
  const auto taken = shared_->take({.charges = split.there.charges});
  if (!taken.has_value() || !taken->is_allowed) from_shares = undo_shares(split.drawn, execution);
  if (!taken.has_value()) return taken;
  return merged({from_shares}, {placed(*taken, split.there.places), split.there.is_shadow()}).verdict;
}

// All or nothing over stores that know nothing of each other: what is decided here is held until the rest is decided.
// With an id each step has it, so that the same operation again finds each step done.
Result<core::Verdict> EscrowStore::take_apart(const store::Take& request, const Split& split,
                                              store::Execution& execution) {
  if (split.here.empty()) return take_elsewhere(request, split, execution);
  Split others = split;
  others.here = {};
  if (request.mode == Mode::kForce) {
    const core::Take forced{.charges = split.here.charges, .mode = Mode::kForce, .id = request.id};
    const auto here = TRY(local_->run(forced, execution));
    const auto rest = TRY(take_elsewhere(request, split, execution));
    return merged({placed(here, split.here.places), split.here.is_shadow()}, {rest, others.is_shadow()}).verdict;
  }
  const std::string id = request.id.empty() ? base::random_id() : std::string(request.id);
  const core::Hold hold{.charges = split.here.charges, .ttl = kApartTtl, .id = id};
  const auto held = TRY(local_->run(hold, execution));
  Told here{placed(held, split.here.places), split.here.is_shadow()};
  if (!here.verdict.is_allowed) {
    const auto rest = TRY(peek_all(others, true, execution));
    return merged(here, {rest, others.is_shadow()}).verdict;
  }
  const auto rest = take_elsewhere(request, split, execution);
  if (rest.has_value() && rest->is_allowed) {
    // The same operation again finds it committed.
    static_cast<void>(local_->run(core::Commit{.id = id}, execution));
    return merged(here, {*rest, others.is_shadow()}).verdict;
  }
  static_cast<void>(local_->run(core::Cancel{id}, execution));
  if (!rest.has_value()) return rest;
  const std::uint16_t violated = here.verdict.violated;
  const std::vector<Charge> free = without_cost(split.here.charges);
  here.verdict = TRY(local_->run(core::Take{.charges = free, .mode = Mode::kPeek}, execution));
  here.verdict.violated = violated;
  return merged(here, {*rest, others.is_shadow()}).verdict;
}

}  // namespace mete::escrow
