#include "store/coordinator.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"
#include "base/random.h"
#include "base/try.h"
#include "core/refusals.h"

namespace mete::store {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::vector<Charge> without_cost(std::span<const Charge> charges) {
  std::vector<Charge> free(charges.begin(), charges.end());
  for (Charge& charge : free) charge.cost = 0;
  return free;
}

// The ids that a part of an operation has: none other has them, so that the operation's own id is free again if the
// whole is refused.
class PartIds {
 public:
  PartIds(std::string_view id, std::span<const Charge> charges) {
    std::uint64_t hash = base::hash_bytes(id, 0);
    for (const Charge& charge : charges) {
      hash = base::hash_bytes(charge.key, base::hash_bytes(charge.limit, hash));
      hash = base::hash_number(static_cast<std::uint64_t>(charge.cost), hash);
    }
    constexpr std::size_t kKept = 80;  // for whoever sees it; together they are no longer than an id may be
    start_ = std::string(id.substr(0, kKept)) + "~" + std::to_string(hash) + "~";
  }

  [[nodiscard]] std::string hold(std::size_t number) const { return start_ + std::to_string(number); }
  [[nodiscard]] std::string late_take() const { return start_ + "late"; }

 private:
  std::string start_;
};

// Runs a take or hold of the part, which has room for the usages of the whole operation.
template <class What>
Result<core::Verdict> run_part(const HomePart& part, What what) {
  const std::span<Usage> whole = what.usages;
  std::vector<Usage> usages;
  for (std::size_t i = 0; i < part.places.size() && !whole.empty(); ++i) usages.push_back(whole[part.places[i]]);
  what.usages = usages;
  const auto verdict = TRY(part.home->run(what));
  for (std::size_t i = 0; i < usages.size(); ++i) whole[part.places[i]] = usages[i];
  return placed(verdict, part.places);
}

Result<core::Verdict> take_part(const HomePart& part, core::Take take) {
  take.charges = part.charges;
  return run_part(part, take);
}

Result<core::Verdict> peek_part(const HomePart& part, std::span<const Charge> charges, std::span<Usage> usages) {
  return run_part(part, core::Take{.charges = charges, .mode = Mode::kPeek, .usages = usages});
}

// Adds the answer to a part, unless it is an error.
Result<void> add(std::vector<PartVerdict>& told, const HomePart& part, const Result<core::Verdict>& verdict) {
  if (!verdict.has_value()) return verdict.error();
  told.push_back({*verdict, part.is_shadow, part.places[0]});
  return {};
}

PartVerdict merged(const PartVerdict& a, const PartVerdict& b) {
  const auto standing = [](const PartVerdict& part) {
    return std::tuple(part.is_shadow, part.verdict.remaining, part.place);
  };
  PartVerdict whole = standing(b) < standing(a) ? b : a;
  whole.verdict.is_allowed = a.verdict.is_allowed && b.verdict.is_allowed;
  whole.verdict.is_unrecorded = whole.verdict.is_allowed && (a.verdict.is_unrecorded || b.verdict.is_unrecorded);
  whole.verdict.violated = static_cast<std::uint16_t>(a.verdict.violated | b.verdict.violated);
  whole.verdict.taken = whole.verdict.is_allowed ? a.verdict.taken + b.verdict.taken : 0;
  whole.verdict.retry_after = std::max(a.verdict.retry_after, b.verdict.retry_after);
  return whole;
}

}  // namespace

core::Verdict placed(core::Verdict verdict, std::span<const std::size_t> places) {
  std::uint16_t violated = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (verdict.is_violated_by(i)) violated = static_cast<std::uint16_t>(violated | 1U << places[i]);
  }
  verdict.violated = violated;
  return verdict;
}

core::Verdict merged(std::span<const PartVerdict> parts) {
  PartVerdict whole = parts[0];
  for (const PartVerdict& part : parts.subspan(1)) whole = merged(whole, part);
  return whole.verdict;
}

// A hold has no charges without a cost.
Coordinator::Coordinator(std::span<const HomePart> parts) : decider_(parts[0]) {
  for (const HomePart& part : parts.subspan(1)) {
    HomePart paid{.home = part.home, .is_shadow = part.is_shadow};
    HomePart free = paid;
    for (std::size_t i = 0; i < part.charges.size(); ++i) {
      (part.charges[i].cost > 0 ? paid : free).add(part.charges[i], part.places[i]);
    }
    if (!paid.charges.empty()) others_.push_back(std::move(paid));
    if (!free.charges.empty()) free_.push_back(std::move(free));
  }
}

// What each part would be answered alone. Where the whole is denied, those that fit tell how things stand without it.
// `known`: the number of a part whose answer is known, the first one's being 0.
Result<core::Verdict> Coordinator::look(const core::Take& take, std::size_t known, const core::Verdict& verdict) {
  std::vector<const HomePart*> parts = {&decider_};
  for (const HomePart& part : others_) parts.push_back(&part);
  for (const HomePart& part : free_) parts.push_back(&part);
  std::vector<PartVerdict> told;
  bool is_denied = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    TRY(add(told, *parts[i], i == known ? verdict : peek_part(*parts[i], parts[i]->charges, take.usages)));
    is_denied = is_denied || !told.back().verdict.is_allowed;
  }
  for (std::size_t i = 0; i < parts.size() && is_denied; ++i) {
    if (!told[i].verdict.is_allowed) continue;
    const std::uint16_t violated = told[i].verdict.violated;  // of limits that deny nothing
    told[i].verdict = TRY(peek_part(*parts[i], without_cost(parts[i]->charges), take.usages));
    told[i].verdict.violated = violated;
  }
  core::Verdict whole = merged(told);
  whole.violated = static_cast<std::uint16_t>(whole.violated | free_places_on_violated_meters(whole));
  return whole;
}

// A meter that does not fit is violated by all charges on it, also by those that were asked for apart.
std::uint16_t Coordinator::free_places_on_violated_meters(const core::Verdict& verdict) const {
  std::uint32_t found = 0;
  for (const HomePart& free : free_) {
    for (const HomePart& paid : others_) {
      for (std::size_t i = 0; i < free.charges.size(); ++i) {
        for (std::size_t j = 0; j < paid.charges.size(); ++j) {
          const bool is_same =
              free.charges[i].limit == paid.charges[j].limit && free.charges[i].key == paid.charges[j].key;
          if (is_same && verdict.is_violated_by(paid.places[j])) found |= 1U << free.places[i];
        }
      }
    }
  }
  return static_cast<std::uint16_t>(found);
}

Result<core::Verdict> Coordinator::take(const core::Take& take) {
  if (take.mode == Mode::kPeek) return look(take, kNone, {});
  if (take.mode == Mode::kForce) return force(take);
  if (take.id.empty()) return decide(take, std::nullopt);
  core::Take part = take;
  part.charges = decider_.charges;
  const auto decided = TRY(decider_.home->run(core::Recall{part}));
  return decide(take, decided ? std::optional(placed(*decided, decider_.places)) : std::nullopt);
}

Result<std::optional<core::Verdict>> Coordinator::recall(const core::Take& take) {
  core::Take part = take;
  part.charges = decider_.charges;
  const auto decided = TRY(decider_.home->run(core::Recall{part}));
  if (!decided) return std::nullopt;
  const auto verdict = TRY(decide(take, placed(*decided, decider_.places)));
  return verdict;
}

Result<void> Coordinator::check() {
  TRY(peek_part(decider_, without_cost(decider_.charges), {}));
  for (const HomePart& part : others_) TRY(peek_part(part, without_cost(part.charges), {}));
  return {};
}

Result<core::Verdict> Coordinator::force(const core::Take& take) {
  TRY(check());
  std::vector<PartVerdict> told;
  TRY(add(told, decider_, take_part(decider_, take)));
  for (const HomePart& part : others_) TRY(add(told, part, take_part(part, take)));
  // What costs nothing is forced as well: a meter that is over its limit by now would deny it.
  const core::Take free{.charges = {}, .mode = Mode::kForce, .usages = take.usages};
  for (const HomePart& part : free_) TRY(add(told, part, take_part(part, free)));
  return merged(told);
}

// `decided`: the answer that the deciding home remembers.
Result<core::Verdict> Coordinator::decide(const core::Take& take, std::optional<core::Verdict> decided) {
  if (decided && !decided->is_allowed) {
    release_earlier(take);
    return look(take, 0, *decided);
  }
  std::vector<PartVerdict> told;
  for (const HomePart& part : free_) TRY(add(told, part, peek_part(part, part.charges, take.usages)));
  // A meter that is over its limit denies even what costs nothing.
  const auto over = std::ranges::find_if(told, [](const PartVerdict& part) { return !part.verdict.is_allowed; });
  if (over != told.end() && !decided) {
    const auto number = static_cast<std::size_t>(over - told.begin());
    return look(take, 1 + others_.size() + number, over->verdict);
  }
  // Whoever has an id may ask again, and then goes on with what is set aside.
  const auto stays = [&](const auto& answer) {
    return !take.id.empty() && !answer.has_value() && answer.error().code == ErrorCode::kUnavailable;
  };
  std::vector<Reserved> reserved;
  for (std::size_t i = 0; i < others_.size(); ++i) {
    auto part = reserve(others_[i], take, decided.has_value());
    const bool is_held = part.has_value() && (part->verdict.is_allowed || decided);
    if (!is_held && !stays(part)) release(reserved);
    if (!is_held) return part.has_value() ? look(take, i + 1, part->verdict) : part.error();
    reserved.push_back(std::move(*part));
  }
  if (!decided) {
    const auto answer = take_part(decider_, take);
    const bool is_taken = answer.has_value() && answer->is_allowed;
    if (!is_taken && !stays(answer)) release(reserved);
    if (!is_taken) return answer.has_value() ? look(take, 0, *answer) : answer;
    decided = *answer;
  }
  for (std::size_t i = 0; i < others_.size(); ++i) {
    TRY(add(told, others_[i], commit(others_[i], take, reserved[i])));
  }
  TRY(add(told, decider_, *decided));
  return merged(told);
}

// An id that the caller gave may be one of a hold that is over, whose answer is only told again.
Result<Coordinator::Reserved> Coordinator::reserve(const HomePart& part, const core::Take& take, bool is_decided) {
  const PartIds ids(take.id, part.charges);
  // A denial is remembered where it is made. Of several homes the next attempt may ask another one first.
  const bool forgets_denial = take.id.empty() || !take.remembers_denial || others_.size() > 1;
  Reserved reserved{.id = take.id.empty() ? base::random_id() : ids.hold(0), .verdict = {}};
  core::Hold hold{.charges = part.charges,
                  .ttl = kMoment,
                  .id = reserved.id,
                  .is_id_random = forgets_denial,
                  .usages = take.usages};
  // What was decided was set aside before: with other charges than these, if they never were.
  if (is_decided && !TRY(part.home->run(core::FindHold{reserved.id}))) return core::id_mismatch(take.id);
  reserved.verdict = TRY(run_part(part, hold));
  if (take.id.empty() || !reserved.verdict.is_allowed) return reserved;
  const auto extended = part.home->run(core::Extend{reserved.id, kMoment});
  if (extended.has_value()) return reserved;
  if (extended.error().code == ErrorCode::kUnavailable) return extended.error();
  // Those that are over come before all others: their end is found in steps that double.
  std::size_t number = 0;
  for (std::size_t step = 1; step > 0;) {
    const auto found = TRY(part.home->run(core::FindHold{ids.hold(number + step - 1)}));
    reserved.is_settled = found && found->state == HoldState::kCommitted;
    const bool is_over = found && (found->state == HoldState::kCancelled || found->state == HoldState::kExpired);
    number += is_over ? step : 0;
    step = is_over ? step * 2 : step / 2;
  }
  reserved.id = ids.hold(number);
  hold.id = reserved.id;
  reserved.verdict = TRY(run_part(part, hold));
  return reserved;
}

// It is decided: a part that is not held any more, or does not fit any more, has happened all the same.
Result<core::Verdict> Coordinator::commit(const HomePart& part, const core::Take& take, const Reserved& reserved) {
  if (reserved.is_settled) return reserved.verdict;
  if (reserved.verdict.is_allowed) {
    const auto committed = part.home->run(core::Commit{.id = reserved.id});
    if (committed.has_value()) return reserved.verdict;
    if (committed.error().code == ErrorCode::kUnavailable) return committed.error();
    const auto found = TRY(part.home->run(core::FindHold{reserved.id}));
    if (found && found->state == HoldState::kCommitted) return reserved.verdict;  // by another one with this id
  }
  const std::string late = take.id.empty() ? std::string() : PartIds(take.id, part.charges).late_take();
  return take_part(part, {.charges = {}, .mode = Mode::kForce, .id = late, .usages = take.usages});
}

// What cannot be cancelled now expires by itself.
void Coordinator::release(std::span<const Reserved> reserved) {
  for (std::size_t i = 0; i < reserved.size(); ++i) {
    if (!reserved[i].is_settled) static_cast<void>(others_[i].home->run(core::Cancel{reserved[i].id}));
  }
}

// Whoever asked before was not told of the denial, and has left its parts set aside.
void Coordinator::release_earlier(const core::Take& take) {
  for (const HomePart& part : others_) {
    const PartIds ids(take.id, part.charges);
    for (std::size_t number = 0;; ++number) {
      const auto found = part.home->run(core::FindHold{ids.hold(number)});
      if (!found.has_value() || !found->has_value()) break;
      if ((*found)->state != HoldState::kHeld) continue;
      static_cast<void>(part.home->run(core::Cancel{ids.hold(number)}));
      break;
    }
  }
}

Result<Settlement> Coordinator::give(const core::Give& give) {
  TRY(check());
  std::vector<PartVerdict> told;
  const auto give_part = [&](const HomePart& part) -> Result<void> {
    const auto given = TRY(part.home->run(core::Give{part.charges, give.id}));
    return add(
        told, part,
        core::Verdict{.is_allowed = true, .taken = given.amount, .remaining = given.remaining, .limit = given.limit});
  };
  TRY(give_part(decider_));
  for (const HomePart& part : others_) TRY(give_part(part));
  const core::Verdict whole = merged(told);
  return Settlement{.amount = whole.taken, .remaining = whole.remaining, .limit = whole.limit};
}

}  // namespace mete::store
