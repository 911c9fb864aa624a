// Taking: from shares, in one of the two stores, or in parts.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/try.h"
#include "escrow/escrow_store.h"
#include "net/fiber.h"
#include "net/side_by_side.h"

namespace mete::escrow {

using store::merged;
using store::PartVerdict;
using store::placed;

namespace {

constexpr Duration kPatience = std::chrono::seconds(5);  // for a draw
// Then nobody is asked any more to give back what is denied here: others are faster to take it.
constexpr int kAttemptsMax = 8;
// Takes of one list that wait for the shared store at the same time.
constexpr std::size_t kTakesAtOnce = 64;

void tell_usage(const core::Verdict& verdict, std::span<Usage> usages) {
  for (Usage& usage : usages) {
    usage = {.used = verdict.limit - verdict.remaining,
             .held = 0,
             .remaining = verdict.remaining,
             .limit = verdict.limit,
             .reset_after = verdict.reset_after};
  }
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
  if (!parts->here.empty()) {
    return in_parts(*parts, execution, [&](store::Coordinator& whole) { return whole.take(take); });
  }
  // One with an id is remembered, even if it takes nothing.
  const bool is_look = take.charges.size() == 1 && first.cost == 0 && take.id.empty();
  const bool is_peek = take.mode == Mode::kPeek || is_look;
  if (is_peek) return told(peek_all(*parts, false, execution), take.usages);
  if (take.mode == Mode::kForce) return force_there(take, *parts);
  if (!take.id.empty() || parts->drawn.empty()) return decide_there(take, *parts);
  const bool is_one_share = take.charges.size() == 1 && !parts->drawn.empty();
  return told(is_one_share ? take_from_share(*parts->drawn.definitions[0], first, take.mode, execution)
                           : take_several(*parts, execution),
              take.usages);
}

namespace {

// Takes of a list that have to wait for the shared store, by meter.
class PutOff {
 public:
  [[nodiscard]] bool has(const Charge& charge) const { return !groups_.empty() && found_.contains(name_of(charge)); }
  void add(const Charge& charge, std::size_t place) {
    const auto [found, is_new] = found_.try_emplace(name_of(charge), groups_.size());
    if (is_new) groups_.emplace_back();
    groups_[found->second].push_back(place);
  }
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }

 private:
  using Name = std::pair<std::string_view, std::string_view>;
  static Name name_of(const Charge& charge) { return {charge.limit, charge.key}; }

  std::map<Name, std::size_t> found_;
  std::vector<std::vector<std::size_t>> groups_;  // places in the list, in their order
};

}  // namespace

// The clock is read once for all that is decided here. What has to wait for the shared store waits together, and behind
// all others; but for takes of one meter, which are carried out in their order.
Result<void> EscrowStore::perform(const core::TakeEach& takes, store::Execution& execution) {
  const Instant now = clock_.now();
  PutOff put_off;
  const auto is_decided = [&](std::size_t i) {
    return !put_off.has(takes.charges[i]) && take_at_once(takes.charges[i], now, takes.answers[i], execution);
  };
  for (std::size_t i = 0; i < takes.charges.size();) {
    if (const auto here = definitions_.count_here(takes.charges.subspan(i)); here > 0) {
      TRY(local_->run(core::TakeEach{takes.charges.subspan(i, here), takes.answers.subspan(i, here)}, execution));
      i += here;
    } else if (is_decided(i)) {
      // Those that follow are of the same limit, most likely: they are asked for their share first.
      ++i;
      while (i < takes.charges.size() && is_decided(i)) ++i;
    } else {
      put_off.add(takes.charges[i], i);
      ++i;
    }
  }
  net::side_by_side(put_off.groups().size(), net::is_on_fiber() ? kTakesAtOnce : 1, [&](std::size_t group) {
    store::Execution own = {.now = execution.now, .waits_for_disk = execution.waits_for_disk};
    for (const std::size_t i : put_off.groups()[group]) {
      takes.answers[i] = perform(core::Take{.charges = takes.charges.subspan(i, 1)}, own);
    }
    execution.note(own.ticket);
  });
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

bool EscrowStore::Part::is_shared_out() const {
  return std::any_of(definitions.begin(), definitions.end(),
                     [](const auto& definition) { return definition->is_shared_out(); });
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
  Shares::Taking taking;
  // One that takes what there is may find that others have some more, and then begins anew.
  const bool may_begin_anew = mode == Mode::kUpTo;
  auto verdict = take_patiently(definition, charge, {.mode = mode, .goes_on = may_begin_anew}, taking, execution);
  if (may_begin_anew) shares_.close(meter_of(charge), taking.spent, clock_.now());
  return taking.outcome == Share::Outcome::kAsk ? ask(definition, charge, *taking.order, mode) : std::move(verdict);
}

Result<core::Verdict> EscrowStore::take_patiently(const Definition& definition, const Charge& charge,
                                                  Shares::Attempt how, Shares::Taking& taking,
                                                  store::Execution& execution) {
  if (charge.cost > kAmountMax) return peek_share(charge);
  const Instant deadline = clock_.now() + kPatience;
  std::uint64_t round = 0;
  for (int attempt = 0;; ++attempt) {
    const Instant now = clock_.now();
    how.has_waited = attempt > 0;
    taking = shares_.take(meter_of(charge), definition.terms, charge.cost, how, now);
    if (taking.outcome == Share::Outcome::kAsk) return taking.verdict;
    if (taking.order) carrier_->carry_out_later(std::move(*taking.order));
    // Denied, or less than was asked for.
    const bool is_short = taking.outcome == Share::Outcome::kDecided && taking.verdict.taken < charge.cost;
    // A draw that will be denied need not be waited for.
    const bool may_ask_others = taking.needs_others && (attempt == 0 || (is_short && attempt < kAttemptsMax));
    if (round == 0 && may_ask_others) round = releases_.begin(meter_of(charge));
    if (is_short && round > 0 && releases_.wait(meter_of(charge), std::exchange(round, 0))) {
      // Nobody has been told of it, nor is it in the book.
      if (!taking.spent.empty()) static_cast<void>(shares_.unspend(meter_of(charge), taking.spent, clock_.now()));
      shares_.reconsider(meter_of(charge));
      continue;
    }
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
  const Charge asked{charge.limit, charge.key, order.amount};
  auto verdict = surely([&] { return shared_->closed().take({.charges = {&asked, 1}, .mode = mode}); });
  shares_.finish(order, verdict.map([](const core::Verdict& told) { return OrderAnswer{.verdict = told}; }),
                 clock_.now());
  return verdict.has_value() ? verdict : fail(definition, charge, verdict.error());
}

Result<void> EscrowStore::note_spent(const Shares::Taking& taking, const Charge& charge, store::Execution& execution) {
  for (const Booking& booking : taking.bookings) {
    TRY(lots_.spend(booking.id, booking.units, execution));
    shares_.booked(meter_of(charge), booking);
  }
  return {};
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

// What the share has need not be asked for.
Result<core::Verdict> EscrowStore::peek_share(const Charge& charge) {
  if (charge.cost > kAmountMax) {
    return peek_share({charge.limit, charge.key, 0}).map(turned_down_for_ever);
  }
  const auto look = shares_.look(meter_of(charge), clock_.now());
  const Amount here = look ? look->usable : 0;
  const Charge missing{charge.limit, charge.key, std::max<Amount>(0, charge.cost - here)};
  Usage usage;
  auto verdict = TRY(shared_->take({.charges = {&missing, 1}, .mode = Mode::kPeek, .usages = {&usage, 1}}));
  // It tells what remains after a peek's charge, if that fits.
  const Amount from_here = verdict.is_allowed ? std::min(here, charge.cost) : 0;
  verdict.remaining = std::min(verdict.limit, verdict.remaining + here - from_here);
  if (verdict.is_allowed) verdict.taken = charge.cost;
  const auto definition = definitions_.known(charge.limit);
  if (!definition || !definition->is_drawn() || verdict.is_allowed || charge.cost > usage.limit) return verdict;
  // What clients hold is not back any sooner than the shared store tells.
  const bool is_share =
      can_come_back(charge, usage) && shares_of_others(charge.limit, {std::string(charge.key)})[0].held > 0;
  verdict.retry_after = denied_for(*definition->terms, verdict.retry_after, is_share);
  return verdict;
}

// --- Several charges
// --------------------------------------------------------------------------------------------------------

// Where the whole is denied, by these or by others, those that fit tell how things stand without it.
Result<core::Verdict> EscrowStore::peek_all(const Split& split, bool is_denied, store::Execution& execution) {
  std::vector<Piece> pieces;
  const Part drawn = joined(split.drawn);
  for (std::size_t i = 0; i < drawn.charges.size(); ++i) {
    pieces.push_back({nullptr, {&drawn.charges[i], 1}, {&drawn.places[i], 1}});
  }
  if (!split.there.empty()) {
    pieces.push_back({shared_.get(), split.there.charges, split.there.places, split.there.is_shadow()});
  }
  std::vector<PartVerdict> parts;
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

// --- From shares, and with what is decided there each time
// ------------------------------------------------------------------
//
//     1. each share spends its charge, or draws what it lacks; a bucket that lacks something is left to the shared
//     store
//     2. the shared store takes all that is left to it, in one step: now it is decided
//     3. where it denies, each share gets back what it has spent, of the lots that it was spent of, which nobody has
//     settled meanwhile
//
// Nothing is ever given back to the shared store: it would be credited to whatever window it is by then.

struct EscrowStore::Several {
  struct FromShare {
    const Charge* charge = nullptr;
    Shares::Taking taking = {};
    PartVerdict told = {};
    bool is_spent = false;
  };

  Part drawn;
  std::vector<FromShare> shares = {};  // those that have decided, or have nothing to pay
  Part rest = {};                      // for the shared store
  std::vector<Order> asked = {};       // of the last charges of the rest: what their shares want to know
  PartVerdict rest_told = {};
  bool is_allowed = true;
};

Result<core::Verdict> EscrowStore::take_several(const Split& split, store::Execution& execution) {
  Several several{.drawn = joined(split.drawn)};
  several.rest = split.there;
  auto done = take_shares(several, execution);
  if (done) done = several.is_allowed ? take_rest(several, execution) : look_at_rest(several, execution);
  if (done && several.is_allowed) {
    close_shares(several);
  } else {
    undo_shares(several, execution);
  }
  if (!done) return done.error();
  std::vector<PartVerdict> parts;
  for (const Several::FromShare& each : several.shares) parts.push_back(each.told);
  if (!several.rest.empty()) parts.push_back(several.rest_told);
  return merged(parts);
}

Result<void> EscrowStore::take_shares(Several& several, store::Execution& execution) {
  const Part& drawn = several.drawn;
  for (std::size_t i = 0; i < drawn.charges.size(); ++i) {
    const Charge& charge = drawn.charges[i];
    Several::FromShare share{.charge = &charge};
    const auto verdict =
        charge.cost == 0 ? peek_share(charge)
                         : take_patiently(*drawn.definitions[i], charge, {.goes_on = true}, share.taking, execution);
    if (!verdict.has_value()) {
      // What was spent and could not be booked counts as used: the book may have it or not.
      shares_.close(meter_of(charge), share.taking.spent, clock_.now());
      return verdict.error();
    }
    if (charge.cost > 0 && share.taking.outcome == Share::Outcome::kAsk) {
      several.rest.charges.push_back(charge);
      several.rest.places.push_back(drawn.places[i]);
      several.rest.definitions.push_back(drawn.definitions[i]);
      several.asked.push_back(std::move(*share.taking.order));
      continue;
    }
    share.told = {placed(*verdict, {&drawn.places[i], 1}), false, drawn.places[i]};
    share.is_spent = !share.taking.spent.empty() && verdict->is_allowed;
    several.is_allowed = several.is_allowed && verdict->is_allowed;
    several.shares.push_back(std::move(share));
  }
  return {};
}

Result<void> EscrowStore::take_rest(Several& several, store::Execution& /*execution*/) {
  const Part& rest = several.rest;
  if (rest.empty()) return {};
  std::vector<Usage> usages(rest.charges.size());
  const auto take = [&] { return shared_->take({.charges = rest.charges, .usages = usages}); };
  const auto verdict = TRY(rest.is_shared_out() ? surely(take) : take());
  tell_asked(several, verdict, usages);
  several.rest_told = {placed(verdict, rest.places), rest.is_shadow(), rest.places[0]};
  several.is_allowed = verdict.is_allowed;
  return {};
}

Result<void> EscrowStore::look_at_rest(Several& several, store::Execution& execution) {
  if (several.rest.empty()) return {};
  Split rest;
  rest.there = several.rest;
  const auto verdict = TRY(peek_all(rest, true, execution));
  several.rest_told = {verdict, several.rest.is_shadow(), several.rest.places[0]};
  return {};
}

void EscrowStore::close_shares(const Several& several) {
  for (const Several::FromShare& share : several.shares) {
    if (share.is_spent) shares_.close(meter_of(*share.charge), share.taking.spent, clock_.now());
  }
}

// Tells how things stand without it, as far as is known here.
void EscrowStore::undo_shares(Several& several, store::Execution& execution) {
  for (Several::FromShare& share : several.shares) {
    if (!share.is_spent) continue;
    const store::MeterName meter = meter_of(*share.charge);
    const Shares::Undone undone = shares_.unspend(meter, share.taking.spent, clock_.now());
    // Best effort: the book says how much is left after a crash, and would say too little then.
    for (const Booking& booking : undone.bookings) static_cast<void>(lots_.spend(booking.id, booking.units, execution));
    share.told.verdict = shares_.standing(meter, clock_.now());
  }
}

// The shares learn of it as if each had asked alone.
void EscrowStore::tell_asked(const Several& several, const core::Verdict& verdict, std::span<const Usage> usages) {
  const std::size_t first = several.rest.charges.size() - several.asked.size();
  for (std::size_t i = 0; i < several.asked.size(); ++i) {
    const Usage& usage = usages[first + i];
    if (usage.limit == 0) continue;  // It was not decided there.
    core::Verdict told = verdict;
    told.is_allowed = !verdict.is_violated_by(first + i);
    told.remaining = usage.remaining;
    told.limit = usage.limit;
    told.reset_after = usage.reset_after;
    shares_.finish(several.asked[i], OrderAnswer{.verdict = told}, clock_.now());
  }
}

}  // namespace mete::escrow
