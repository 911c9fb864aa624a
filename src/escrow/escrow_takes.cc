// Taking: from shares, in one of the two stores, or in parts.
#include <algorithm>
#include <utility>

#include "base/random.h"
#include "escrow/escrow_store.h"
#include "store/open_admission.h"

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

// Both are placed. The part with the least remaining stands for the whole.
core::Verdict merged(const core::Verdict& a, const core::Verdict& b) {
  core::Verdict whole = b.remaining < a.remaining ? b : a;
  whole.is_allowed = a.is_allowed && b.is_allowed;
  whole.violated = static_cast<std::uint16_t>(a.violated | b.violated);
  whole.taken = whole.is_allowed ? a.taken + b.taken : 0;
  whole.retry_after = std::max(a.retry_after, b.retry_after);
  return whole;
}

Result<core::Verdict> told(Result<core::Verdict> verdict, std::span<Usage> usages) {
  if (verdict) tell_usage(*verdict, usages);
  return verdict;
}

}  // namespace

Result<core::Verdict> EscrowStore::do_take(const store::TakeRequest& request) {
  const Charge& first = request.charges[0];
  const bool is_plain = request.charges.size() == 1 && request.mode == Mode::kTake && request.id.empty();
  Result<core::Verdict> answer;
  if (is_plain && take_at_once(first, clock_.now(), answer)) {
    if (answer) tell_usage(*answer, request.usages);
    return answer;
  }
  const auto parts = split(request.charges);
  if (!parts) return tl::make_unexpected(parts.error());
  const bool is_all_here = parts->drawn.empty() && parts->there.empty();
  if (is_all_here) return local_->take(request);
  const bool is_peek = request.mode == Mode::kPeek || (request.charges.size() == 1 && first.cost == 0);
  if (is_peek) return told(peek_all(*parts), request.usages);
  const bool is_for_shared = !request.id.empty() || request.mode == Mode::kForce || parts->drawn.empty();
  if (parts->here.empty() && is_for_shared) return take_there(request, parts->drawn);
  const bool is_one_share = request.charges.size() == 1 && !parts->drawn.empty();
  return told(
      is_one_share ? take_from_share(*parts->drawn.definitions[0], first, request.mode) : take_apart(request, *parts),
      request.usages);
}

// The clock is read once for all, and again only after one that had to wait.
void EscrowStore::do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) {
  Instant now = clock_.now();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (take_at_once(charges[i], now, answers[i])) continue;
    answers[i] = do_take({.charges = charges.subspan(i, 1)});
    now = clock_.now();
  }
}

Result<EscrowStore::Split> EscrowStore::split(std::span<const Charge> charges) {
  Split split;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    auto definition = definitions_.find(charges[i].limit);
    if (!definition) return tl::make_unexpected(definition.error());
    Part& part = (*definition)->is_here() ? split.here : (*definition)->is_drawn() ? split.drawn : split.there;
    part.charges.push_back(charges[i]);
    part.places.push_back(i);
    part.definitions.push_back(std::move(*definition));
  }
  return split;
}

// --- From a share ----------------------------------------------------------------------------------------------------

bool EscrowStore::take_at_once(const Charge& charge, Instant now, Result<core::Verdict>& answer) {
  Shares::Taking taking;
  if (charge.cost == 0 || !shares_.take_at_once(meter_of(charge), charge.cost, now, taking)) return false;
  if (taking.order) carrier_->carry_out_later(std::move(*taking.order));
  answer = taking.verdict;
  if (auto ok = note_spent(taking, charge); !ok) answer = tl::make_unexpected(ok.error());
  return true;
}

Result<core::Verdict> EscrowStore::take_from_share(const Definition& definition, const Charge& charge, Mode mode) {
  const Instant deadline = clock_.now() + kPatience;
  for (bool has_waited = false;; has_waited = true) {
    const Instant now = clock_.now();
    Shares::Taking taking = shares_.take(meter_of(charge), definition.terms, charge.cost, mode, now, has_waited);
    if (taking.outcome == Share::Outcome::kAsk) return ask(definition, charge, *taking.order, mode);
    if (taking.order) carrier_->carry_out_later(std::move(*taking.order));
    if (taking.outcome == Share::Outcome::kDecided) {
      if (auto ok = note_spent(taking, charge); !ok) return tl::make_unexpected(ok.error());
      return taking.verdict;
    }
    if (taking.outcome == Share::Outcome::kFailed) return fail(definition, charge, taking.failure);
    const std::chrono::nanoseconds left((deadline - now).ns());
    if (left.count() <= 0 || !shares_.wait_for_change(meter_of(charge), taking.change, left)) {
      return fail(definition, charge, {ErrorCode::kUnavailable, "the shared store has not answered in time"});
    }
  }
}

// On this thread: nobody else waits for it.
Result<core::Verdict> EscrowStore::ask(const Definition& definition, const Charge& charge, const Order& order,
                                       Mode mode) {
  if (const auto reason = carrier_->halted()) return fail(definition, charge, *reason);
  const Charge asked{charge.limit, charge.key, order.amount};
  auto verdict = shared_->take({.charges = {&asked, 1}, .mode = mode});
  shares_.finish(order, verdict.map([](const core::Verdict& told) { return OrderAnswer{.verdict = told}; }),
                 clock_.now());
  return verdict ? verdict : fail(definition, charge, verdict.error());
}

Result<void> EscrowStore::note_spent(const Shares::Taking& taking, const Charge& charge) {
  if (!taking.is_stock || !taking.verdict.is_allowed) return {};
  return book_.spend(meter_of(charge), taking.verdict.taken);
}

Result<core::Verdict> EscrowStore::fail(const Definition& definition, const Charge& charge, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return tl::make_unexpected(error);
  const Limit& limit = definition.limit;
  if (limit.on_fail() == OnFail::kOpen) {
    open_admissions_.fetch_add(1, std::memory_order_relaxed);
    return store::admit_as_fresh(charge.cost, definition.terms->capacity, {});
  }
  return tl::make_unexpected(Error{
      ErrorCode::kUnavailable,
      "this node's share of limit '" + limit.name() + "' is used up, and no more can be drawn: " + error.message});
}

Result<core::Verdict> EscrowStore::take_shares(const Part& drawn) {
  std::optional<core::Verdict> whole;
  std::vector<const Charge*> taken;
  std::optional<Error> failure;
  for (std::size_t i = 0; i < drawn.charges.size() && !failure; ++i) {
    const auto verdict = take_from_share(*drawn.definitions[i], drawn.charges[i], Mode::kTake);
    if (!verdict) {
      failure = verdict.error();
      continue;
    }
    if (verdict->is_allowed) taken.push_back(&drawn.charges[i]);
    const core::Verdict part = placed(*verdict, {&drawn.places[i], 1});
    whole = whole ? merged(*whole, part) : part;
  }
  if (!failure && whole->is_allowed) return *whole;
  for (const Charge* charge : taken) undo_share(*charge);
  if (failure) return tl::make_unexpected(*failure);
  return *whole;
}

void EscrowStore::undo_share(const Charge& charge) {
  const Shares::Undone undone = shares_.unspend(meter_of(charge), charge.cost);
  // Best effort, of the two that follow: what does not come back is used until its window ends.
  if (undone.is_stock) static_cast<void>(book_.unspend(meter_of(charge), undone.units));
  const Charge rest{charge.limit, charge.key, charge.cost - undone.units};
  if (rest.cost > 0) static_cast<void>(shared_->give({&rest, 1}, {}));
}

// What the share has need not be asked for.
Result<core::Verdict> EscrowStore::peek_share(const Charge& charge) {
  const auto look = shares_.look(meter_of(charge), clock_.now());
  const Amount here = look ? look->usable : 0;
  const Charge missing{charge.limit, charge.key, std::max<Amount>(0, charge.cost - here)};
  auto verdict = shared_->take({.charges = {&missing, 1}, .mode = Mode::kPeek});
  if (!verdict) return verdict;
  // It tells what remains after a peek's charge.
  const Amount from_here = std::min(here, charge.cost);
  verdict->remaining = std::min(verdict->limit, verdict->remaining + here - from_here);
  if (verdict->is_allowed) verdict->taken = charge.cost;
  return verdict;
}

// --- In the shared store ---------------------------------------------------------------------------------------------

// What is missing there may be here.
Result<core::Verdict> EscrowStore::take_there(const store::TakeRequest& request, const Part& drawn) {
  if (drawn.empty() || request.mode == Mode::kForce) return shared_->take(request);
  store::TakeRequest attempt = request;
  attempt.remembers_denial = false;
  auto verdict = shared_->take(attempt);
  if (!verdict || verdict->is_allowed) return verdict;
  give_back(drawn.charges);
  return shared_->take(request);
}

void EscrowStore::give_back(std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    for (const Order& order : shares_.settle(meter_of(charge), clock_.now())) carrier_->carry_out(order);
  }
}

// --- In parts --------------------------------------------------------------------------------------------------------

Result<core::Verdict> EscrowStore::peek_all(const Split& split) {
  std::optional<core::Verdict> whole;
  const auto add = [&](const Result<core::Verdict>& verdict, std::span<const std::size_t> places) -> Result<void> {
    if (!verdict) return tl::make_unexpected(verdict.error());
    const core::Verdict part = placed(*verdict, places);
    whole = whole ? merged(*whole, part) : part;
    return {};
  };
  for (std::size_t i = 0; i < split.drawn.charges.size(); ++i) {
    if (auto ok = add(peek_share(split.drawn.charges[i]), {&split.drawn.places[i], 1}); !ok) {
      return tl::make_unexpected(ok.error());
    }
  }
  for (const auto& [part, store] : {std::pair(&split.here, local_.get()), std::pair(&split.there, shared_.get())}) {
    if (part->empty()) continue;
    if (auto ok = add(store->take({.charges = part->charges, .mode = Mode::kPeek}), part->places); !ok) {
      return tl::make_unexpected(ok.error());
    }
  }
  return *whole;
}

// What is not decided here alone. With an id, or by force, all of it there.
Result<core::Verdict> EscrowStore::take_elsewhere(const store::TakeRequest& request, const Split& split) {
  if (!request.id.empty() || request.mode == Mode::kForce) {
    Part all = split.there;
    all.charges.insert(all.charges.end(), split.drawn.charges.begin(), split.drawn.charges.end());
    all.places.insert(all.places.end(), split.drawn.places.begin(), split.drawn.places.end());
    return take_there({.charges = all.charges, .mode = request.mode, .id = request.id}, split.drawn)
        .map([&](const core::Verdict& verdict) { return placed(verdict, all.places); });
  }
  std::optional<core::Verdict> from_shares;
  if (!split.drawn.empty()) {
    const auto taken = take_shares(split.drawn);
    if (!taken || split.there.empty()) return taken;
    from_shares = *taken;
  }
  const bool is_open = !from_shares || from_shares->is_allowed;
  const auto there = shared_->take({.charges = split.there.charges, .mode = is_open ? Mode::kTake : Mode::kPeek});
  if (from_shares && from_shares->is_allowed && (!there || !there->is_allowed)) {
    for (const Charge& charge : split.drawn.charges) undo_share(charge);
  }
  if (!there) return there;
  const core::Verdict part = placed(*there, split.there.places);
  return from_shares ? merged(*from_shares, part) : part;
}

// All or nothing over stores that know nothing of each other: what is decided here is held until the rest is decided.
// With an id each step has it, so that the same operation again finds each step done.
Result<core::Verdict> EscrowStore::take_apart(const store::TakeRequest& request, const Split& split) {
  if (split.here.empty()) return take_elsewhere(request, split);
  if (request.mode == Mode::kForce) {
    const auto here = local_->take({.charges = split.here.charges, .mode = Mode::kForce, .id = request.id});
    if (!here) return here;
    const auto rest = take_elsewhere(request, split);
    return rest ? merged(placed(*here, split.here.places), *rest) : rest;
  }
  const std::string id = request.id.empty() ? base::random_id() : std::string(request.id);
  const auto held = local_->hold({.charges = split.here.charges, .ttl = kApartTtl, .id = id});
  if (!held) return held;
  const core::Verdict here = placed(*held, split.here.places);
  if (!here.is_allowed) {
    Split others = split;
    others.here = {};
    const auto rest = peek_all(others);
    return rest ? merged(here, *rest) : rest;
  }
  const auto rest = take_elsewhere(request, split);
  if (rest && rest->is_allowed) {
    // The same operation again finds it committed.
    static_cast<void>(local_->commit({.id = id}));
  } else {
    static_cast<void>(local_->cancel(id));
  }
  return rest ? merged(here, *rest) : rest;
}

}  // namespace mete::escrow
