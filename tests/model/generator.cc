#include "model/generator.h"

#include <algorithm>
#include <array>
#include <random>

#include "model/model_limiter.h"

namespace mete::model {

namespace {

using namespace std::chrono_literals;

class Generator {
 public:
  Generator(std::uint64_t seed, const Times& times)
      : times_(times), engine_(seed), clock_(start()), now_(clock_.now()), model_(clock_) {}

  History make(int operations);

 private:
  std::int64_t between(std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(engine_);
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class List>
  auto pick(const List& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(std::size(list)) - 1))];
  }

  // So many of the clock's smallest steps.
  Duration steps(std::int64_t count) { return Duration::from_ns(count * times_.resolution.ns()); }
  Duration length(Duration min, Duration max) {
    return steps(between(min.ns() / times_.resolution.ns(), max.ns() / times_.resolution.ns()));
  }
  Instant start();
  void step();
  void note_boundary(Duration wait) {
    if (!wait.is_never()) boundaries_.push_back(round_up(now_ + wait, times_.resolution));
  }
  std::optional<Instant> boundary();

  Amount amount();
  Amount cost(const std::string& limit);
  Duration period();
  Limit limit(const std::string& name);
  std::string limit_name() { return one_in(60) ? "nowhere" : pick(names_); }
  std::string key() { return one_in(200) ? std::string() : pick(std::array<std::string, 4>{"k1", "k2", "k3", "k4"}); }
  OwnedCharge charge();
  std::vector<OwnedCharge> charges();
  Duration about_a_period();
  Duration ttl();
  std::string own_id() { return one_in(4) ? "id" + std::to_string(between(1, 12)) : std::string(); }
  std::string hold_id();
  std::vector<Amount> commit_amounts(const std::string& id);

  Operation any();
  Operation taking();
  Operation holding();
  Operation on_hold();
  Operation defining();
  Operation define(const std::string& name);
  void execute(Operation operation);
  void execute_quietly(const Operation& operation, const std::vector<Charge>& charges);

  Times times_;
  std::mt19937_64 engine_;
  ManualClock clock_;
  Instant now_;  // of the clock, which may have been set back
  ModelLimiter model_;
  std::vector<std::string> names_ = {"a", "b", "c", "d", "e"};
  std::vector<std::string> hold_ids_;
  std::vector<Operation> with_id_;
  std::vector<Instant> boundaries_;  // where something is due to happen
  int nicknames_ = 0;
  History history_;
};

Instant Generator::start() {
  constexpr Duration kHalfACentury = 24h * 18'262;
  const Instant starts[] = {times_.earliest, Instant::from_unix_seconds(1'700'000'000),
                            Instant::from_unix_seconds(1'709'210'000),
                            times_.latest + Duration::from_ns(-kHalfACentury.ns())};
  return pick(starts) + length(0ns, 40h);
}

std::optional<Instant> Generator::boundary() {
  if (boundaries_.empty()) return std::nullopt;
  // The latest are the most likely to be still ahead.
  const auto back = std::min<std::int64_t>(between(0, 3), static_cast<std::int64_t>(boundaries_.size()) - 1);
  return boundaries_[boundaries_.size() - 1 - static_cast<std::size_t>(back)] + steps(between(-1, 1));
}

void Generator::step() {
  Instant target = now_;
  const auto choice = between(0, 19);
  if (choice < 6) return;
  if (choice < 11) {
    const auto at = boundary();
    const bool is_near = at && *at < now_ + 2h;
    if (at && *at > now_ && (is_near || one_in(4))) target = *at;
  } else if (choice < 13) {
    target = now_ + steps(between(1, 3));
  } else if (choice < 16) {
    target = now_ + length(0s, 5s);
  } else if (choice < 17) {
    target = now_ + length(0s, 2h);
  } else if (choice < 18) {
    target = now_ + (one_in(5) ? length(0h, 24h * 1200) : length(0h, 30h));
  } else {
    target = now_ + (one_in(3) ? length(Duration::from_ns(-times_.set_back_most.ns()), 0h) : length(-2s, 0s));
  }
  if (target >= times_.earliest && target < times_.latest) now_ = target;
}

Amount Generator::amount() {
  if (one_in(12)) return pick(std::array<Amount, 4>{kAmountMax, kAmountMax - 1, 1'000'000'000'000'000, 1'000'003});
  return one_in(3) ? between(1, 1000) : between(1, 12);
}

Amount Generator::cost(const std::string& limit) {
  if (one_in(200)) return pick(std::array<Amount, 2>{-1, kAmountMax + 1});
  if (one_in(60)) return kAmountMax;
  if (one_in(3)) {  // around what is left
    const auto usage = model_.usage(limit, "k1");
    if (usage) return std::clamp<Amount>(usage->remaining + between(-1, 1), 0, kAmountMax);
  }
  return one_in(8) ? between(0, 300) : between(0, 6);
}

Duration Generator::period() {
  const Duration periods[] = {1ms,
                              1s,
                              3s,
                              7s,
                              10s,
                              1min,
                              1h,
                              24h,
                              720h,
                              kPeriodMax,
                              999'983us,
                              86'399'999'999us,
                              999'999'937ns,
                              86'399'999'999'999ns};
  while (true) {
    const Duration period = pick(periods);
    if (is_multiple(period, times_.resolution)) return period;
  }
}

Limit Generator::limit(const std::string& name) {
  const Kind kind = pick(std::array{Kind::kBucket, Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kSliding,
                                    Kind::kCalendar, Kind::kStock, Kind::kStock});
  Limit made(kind, name);
  made.amount(one_in(100) ? 0 : amount()).shadow(one_in(8));
  if (kind == Kind::kCalendar) {
    const Unit unit = pick(std::array{Unit::kHour, Unit::kDay, Unit::kWeek, Unit::kMonth, Unit::kYear});
    made.per(unit);
    if (one_in(3) && unit == Unit::kWeek) made.anchor(static_cast<int>(between(1, 7)));
    if (one_in(3) && unit == Unit::kMonth) made.anchor(static_cast<int>(between(1, 31)));
    if (one_in(3) && unit == Unit::kYear)
      made.anchor(month_day(static_cast<int>(between(1, 12)), static_cast<int>(between(1, 28))));
  } else if (kind != Kind::kStock) {
    made.per(period());
  }
  if (kind == Kind::kBucket && one_in(2)) made.burst(amount());
  return made;
}

OwnedCharge Generator::charge() {
  OwnedCharge made{limit_name(), key(), 1};
  made.cost = cost(made.limit);
  return made;
}

std::vector<OwnedCharge> Generator::charges() {
  std::int64_t count = one_in(2) ? 1 : between(1, 4);
  if (one_in(40)) count = between(0, static_cast<std::int64_t>(kChargesMax) + 1);
  std::vector<OwnedCharge> made;
  for (std::int64_t i = 0; i < count; ++i) {
    made.push_back(!made.empty() && one_in(4) ? pick(made) : charge());
    if (count > 4) made.back().cost %= 3;
  }
  return made;
}

// About the period of a limit: the hold expires as its charge passes by itself, or by up to one slot of a sliding
// window's ring before or after that.
Duration Generator::about_a_period() {
  constexpr std::int64_t kSlots = 125;
  const auto first = static_cast<std::size_t>(between(0, static_cast<std::int64_t>(names_.size()) - 1));
  const Duration period = history_.operations[first].limit->period().value_or(1s);  // each name's definition
  const std::int64_t slot_ns = period.ns() / kSlots;
  return std::clamp(period + length(Duration::from_ns(-slot_ns), Duration::from_ns(slot_ns)), times_.resolution,
                    kHoldTtlMax);
}

Duration Generator::ttl() {
  if (one_in(50)) return pick(std::array<Duration, 3>{Duration(), kHoldTtlMax + times_.resolution, Duration(-1s)});
  if (one_in(20)) return kHoldTtlMax;
  if (one_in(4)) return about_a_period();
  return one_in(3) ? length(times_.resolution, 48h) : length(times_.resolution, 20s);
}

// Mostly of an open hold.
std::string Generator::hold_id() {
  if (hold_ids_.empty() || one_in(30)) return one_in(2) ? "unknown" : "id1";
  std::string id;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const auto back = std::min<std::int64_t>(between(0, 5), static_cast<std::int64_t>(hold_ids_.size()) - 1);
    id = hold_ids_[hold_ids_.size() - 1 - static_cast<std::size_t>(back)];
    const auto info = model_.find_hold(id);
    if (info.has_value() && *info && (*info)->state == HoldState::kHeld) break;
  }
  return id;
}

std::vector<Amount> Generator::commit_amounts(const std::string& id) {
  const auto info = model_.find_hold(id);
  std::vector<Amount> amounts;
  if (info.has_value() && *info) {
    for (const HeldCharge& held : (*info)->charges) {
      amounts.push_back(one_in(5) ? held.amount + between(1, 3) : between(0, held.amount));
    }
  }
  if (amounts.empty() || one_in(40)) amounts.push_back(between(-1, 3));
  return amounts;
}

Operation Generator::taking() {
  Operation made;
  made.call = one_in(5) ? Call::kGive : Call::kTake;
  made.charges = charges();
  if (one_in(3)) made.mode = pick(std::array{Mode::kPeek, Mode::kUpTo, Mode::kForce});
  if (made.mode == Mode::kUpTo && made.charges.size() > 1 && !one_in(10)) made.charges.resize(1);
  if (made.call == Call::kGive || made.mode != Mode::kPeek) made.id = own_id();
  return made;
}

Operation Generator::holding() {
  Operation made;
  made.call = Call::kHold;
  made.charges = charges();
  for (OwnedCharge& charge : made.charges) {
    if (charge.cost == 0 && !one_in(20)) charge.cost = 1;
  }
  made.ttl = ttl();
  made.id = own_id();
  if (one_in(2)) made.tag = pick(std::array<std::string, 2>{"t1", "t2"});
  if (made.id.empty()) made.nickname = "$" + std::to_string(++nicknames_);
  return made;
}

Operation Generator::on_hold() {
  Operation made;
  made.call = pick(std::array{Call::kCommit, Call::kCommitAmounts, Call::kCommitOverage, Call::kCancel, Call::kExtend,
                              Call::kFindHold});
  made.id = hold_id();
  if (made.call == Call::kExtend) made.ttl = ttl();
  if (made.call == Call::kCommitAmounts || made.call == Call::kCommitOverage) made.amounts = commit_amounts(made.id);
  return made;
}

Operation Generator::defining() {
  Operation made;
  made.call = pick(
      std::array{Call::kDefine, Call::kDefine, Call::kDrop, Call::kOverride, Call::kOverride, Call::kClearOverride});
  made.charges = {{limit_name(), key(), 0}};
  if (made.call == Call::kOverride) made.amount = one_in(50) ? 0 : amount();
  if (made.call == Call::kDefine) {
    const auto found = std::find_if(
        history_.operations.rbegin(), history_.operations.rend(),
        [&](const auto& operation) { return operation.limit && operation.limit->name() == made.charges[0].limit; });
    const bool is_variant = found != history_.operations.rend() && one_in(2);
    made.limit = is_variant ? found->limit->amount(amount()) : limit(made.charges[0].limit);
  }
  return made;
}

Operation Generator::define(const std::string& name) {
  Operation made;
  made.call = Call::kDefine;
  made.limit = limit(name);
  return made;
}

Operation Generator::any() {
  if (!with_id_.empty() && one_in(15)) return pick(with_id_);
  if (const auto known = model_.limits(); known->size() < names_.size() && one_in(4)) {
    const auto is_missing = [&](const std::string& name) {
      return std::count(known->begin(), known->end(), name) == 0;
    };
    return define(*std::find_if(names_.begin(), names_.end(), is_missing));
  }
  const auto choice = between(0, 99);
  if (choice < 45) return taking();
  if (choice < 62) return holding();
  if (choice < 80) return hold_ids_.empty() ? holding() : on_hold();
  if (choice < 87) return defining();
  Operation made;
  made.call =
      pick(std::array{Call::kUsage, Call::kUsage, Call::kReconcile, Call::kHolds, Call::kHoldsTagged, Call::kLimits});
  made.charges = {{limit_name(), key(), 0}};
  made.amount = one_in(20) ? kAmountMax : between(0, 12);
  made.tag = "t1";
  return made;
}

// What the model says on the way tells where things are due to happen, and which holds are open.
void Generator::execute(Operation operation) {
  operation.at = now_;
  operation.resolution = times_.resolution;
  clock_.set(now_);
  const std::vector<Charge> charges = views_of(operation.charges);
  switch (operation.call) {
    case Call::kTake: {
      const auto decision = model_.take(charges, {.mode = operation.mode, .id = operation.id});
      if (!decision.has_value()) break;
      note_boundary(decision->retry_after);
      note_boundary(decision->reset_after);
      break;
    }
    case Call::kHold: {
      const std::string name = operation.id.empty() ? operation.nickname : operation.id;
      const auto decision = model_.hold(charges, operation.ttl, {.id = name, .tag = operation.tag});
      if (!decision.has_value() || !decision->allowed()) break;
      hold_ids_.push_back(name);
      note_boundary(operation.ttl);
      break;
    }
    default:
      execute_quietly(operation, charges);
  }
  const bool may_repeat = operation.call == Call::kTake || operation.call == Call::kGive ||
                          operation.call == Call::kHold || operation.call == Call::kCommit ||
                          operation.call == Call::kCommitAmounts || operation.call == Call::kCommitOverage ||
                          operation.call == Call::kCancel;
  if (may_repeat && !operation.id.empty()) with_id_.push_back(operation);
  history_.operations.push_back(std::move(operation));
}

// The calls whose answers nothing is learnt from.
void Generator::execute_quietly(const Operation& operation, const std::vector<Charge>& charges) {
  const Charge meter = charges.empty() ? Charge{} : charges[0];
  if (operation.call == Call::kDefine) (void)model_.define(*operation.limit);
  if (operation.call == Call::kDrop) (void)model_.drop(meter.limit);
  if (operation.call == Call::kOverride) (void)model_.override_amount(meter.limit, meter.key, operation.amount);
  if (operation.call == Call::kClearOverride) (void)model_.clear_override(meter.limit, meter.key);
  if (operation.call == Call::kReconcile) (void)model_.reconcile(meter.limit, meter.key, operation.amount);
  if (operation.call == Call::kGive) (void)model_.give(charges, operation.id);
  if (operation.call == Call::kCommit) (void)model_.commit(operation.id);
  if (operation.call == Call::kCommitAmounts) (void)model_.commit(operation.id, operation.amounts);
  if (operation.call == Call::kCommitOverage) (void)model_.commit_with_overage(operation.id, operation.amounts);
  if (operation.call == Call::kCancel) (void)model_.cancel(operation.id);
  if (operation.call == Call::kExtend && model_.extend(operation.id, operation.ttl)) note_boundary(operation.ttl);
}

History Generator::make(int operations) {
  names_.resize(static_cast<std::size_t>(between(1, 5)));
  history_.is_probed = one_in(2);
  for (const std::string& name : names_) {
    execute(define(name));
  }
  while (history_.operations.size() < static_cast<std::size_t>(operations)) {
    step();
    execute(any());
  }
  return history_;
}

}  // namespace

History random_history(std::uint64_t seed, int operations, const Times& times) {
  return Generator(seed, times).make(operations);
}

}  // namespace mete::model
