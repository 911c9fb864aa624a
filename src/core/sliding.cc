#include "core/sliding.h"

#include "base/check.h"
#include "core/sliding_log.h"
#include "core/sliding_ring.h"

namespace mete::core::sliding {

namespace {

using Form = SlidingState::Form;

constexpr Amount kLargeUnits = 804;

bool is_large(const Rule& rule) { return rule.capacity > kSmallAmountMax; }

// What a bit of the ring stands for.
Amount quantum_of(const Rule& rule) { return is_large(rule) ? (rule.capacity + kLargeUnits - 1) / kLargeUnits : 1; }

// The units that the ring has room for. A charge makes a slot the newest, so the others have a unit less than the
// amount, or more than they should after FORCE: then what does not fit is carried on, as what is no whole quantum is.
Amount ring_units_max(const SlidingState& state) { return (state.is_large() ? kLargeUnits : kSmallAmountMax) - 1; }

// How much longer the charge, or slot, that starts there counts. Even if that is past the end of time.
Duration counts_for(const Rule& rule, const SlidingState& state, Instant start, Instant now) {
  return rule.period + lag(rule, state) + (start - now);
}

Amount older_units(const SlidingState& state) {
  if (state.form() == Form::kRing) return state.ring.units * ring::quantum(state);
  return log::units(state);
}

void clear(SlidingState& state) { state = SlidingState(); }

bool has_sound_charges(const SlidingState& state) {
  switch (state.form()) {
    case Form::kLog:
      return log::units(state) >= 0 && log::units(state) <= state.used();
    case Form::kRing:
      return state.ring.slots <= kSlots && state.ring.units <= ring_units_max(state) && ring::is_sound(state) &&
             state.ring.units <= state.used() / ring::quantum(state);
    case Form::kTwoWindows:
      return state.previous >= 0 && state.previous <= kAmountMax;
  }
  return false;
}

void begin(const Rule& rule, SlidingState& state, Form form, Instant at) {
  clear(state);
  if (rule.period > log::kPeriodMax) form = Form::kRing;
  state.set(0, form, is_large(rule));
  state.start = form == Form::kRing ? slot_of(rule, at) : at;
  if (form == Form::kRing && state.is_large()) ring::set_quantum(state, quantum_of(rule));
}

// Makes another slot of the ring the newest.
void leave_slot(const Rule& rule, SlidingState& state, Instant slot) {
  if (slot <= state.start) return;
  const Amount quantum = ring::quantum(state);
  const Amount newest = state.used() - state.ring.units * quantum;
  const Amount room = ring_units_max(state) - state.ring.units;
  const auto passed = (slot - state.start).ns() / slot_width(rule).ns();
  // Whatever is more than a ring of slots away no longer counts.
  const std::int64_t gone = std::min<std::int64_t>(state.ring.slots + passed - kSlots, state.ring.slots);
  if (gone > 0) state.subtract(ring::drop_oldest(state, gone) * quantum);
  ring::append(state, std::min(newest / quantum, room), std::min<std::int64_t>(passed, kSlots));
  state.start = slot;
}

// Makes another instant that of the newest charge; false if the log has no room for what was the newest.
bool leave_charge(const Rule& rule, SlidingState& state, Instant now) {
  log::Older older = log::read(state);
  const Amount newest = state.used() - older_units(state);
  if (newest > 0) {
    if (older.size() == log::kOlderMax || newest > std::min(rule.capacity, log::units_max(state))) return false;
    older.push_back({state.start, newest});
  }
  state.start = now;
  log::write(state, older);
  return true;
}

void move_newest(const Rule& rule, SlidingState& state, Instant at) {
  if (state.form() == Form::kLog && at > state.start && !leave_charge(rule, state, at)) {
    state = made_of(rule, Form::kRing, charges_of(rule, state));
  }
  if (state.form() == Form::kRing) leave_slot(rule, state, slot_of(rule, at));
}

// The latest that the charges of the two windows can have been made.
void turn_into_charges(const Rule& rule, SlidingState& state, Instant now) {
  const Charged charges[] = {{state.start, state.previous}, {std::min(now, state.start + rule.period), state.used()}};
  state = made_of(rule, Form::kLog, charges);
}

void let_log_pass(const Rule& rule, SlidingState& state, Instant now) {
  log::Older older = log::read(state);
  std::size_t gone = 0;
  for (; gone < older.size() && older[gone].start + rule.period <= now; ++gone) state.subtract(older[gone].units);
  if (gone == 0) return;
  older.erase(older.begin(), older.begin() + static_cast<std::ptrdiff_t>(gone));
  log::write(state, older);
}

void let_ring_pass(const Rule& rule, SlidingState& state, Instant now) {
  const std::int64_t width = slot_width(rule).ns();
  const Instant first = state.start + Duration::from_ns(-width * state.ring.slots);
  const std::int64_t passed = (now - (first + rule.period)).ns();
  if (passed < width) return;
  const Amount gone = ring::drop_oldest(state, std::min<std::int64_t>(passed / width, state.ring.slots));
  state.subtract(gone * ring::quantum(state));
}

// Takes up to so many units out of the ring's slots from `index` on, `count` of them. They lose whole quanta: what is
// too much of the last one goes to the newest slot. Returns how much that was.
Amount take_from_ring(SlidingState& state, std::int64_t index, std::int64_t count, Amount units) {
  const Amount quantum = ring::quantum(state);
  const Amount taken = std::min(units, ring::take(state, index, count, (units + quantum - 1) / quantum) * quantum);
  state.subtract(taken);
  return taken;
}

Amount take_from_log(SlidingState& state, Instant from, Instant to, Amount units) {
  log::Older older = log::read(state);
  Amount taken = 0;
  for (Charged& charge : older) {
    if (charge.start < from || charge.start > to) continue;
    const Amount part = std::min(charge.units, units - taken);
    charge.units -= part;
    taken += part;
  }
  older.erase(std::remove_if(older.begin(), older.end(), [](const Charged& charge) { return charge.units == 0; }),
              older.end());
  log::write(state, older);
  state.subtract(taken);
  return taken;
}

// Takes up to so many units out of what was charged at that time, or in its slot.
Amount take_own(const Rule& rule, SlidingState& state, Instant made_at, Amount units) {
  const bool is_ring = state.form() == Form::kRing;
  const Instant start = is_ring ? slot_of(rule, made_at) : made_at;
  if (start == state.start) {
    const Amount taken = std::min(units, state.used() - older_units(state));
    state.subtract(taken);
    return taken;
  }
  if (!is_ring) return take_from_log(state, start, start, units);
  const std::int64_t index = state.ring.slots - (state.start - start).ns() / slot_width(rule).ns();
  if (start > state.start || index < 0) return 0;
  return take_from_ring(state, index, 1, units);
}

}  // namespace

void let_pass(const Rule& rule, SlidingState& state, Instant now) {
  if (state.form() == Form::kTwoWindows) turn_into_charges(rule, state, now);
  if (state.used() == 0 || counts_until(rule, state, state.start) <= now) return clear(state);
  state.form() == Form::kRing ? let_ring_pass(rule, state, now) : let_log_pass(rule, state, now);
  if (state.used() == 0) clear(state);
}

void charge_elsewhen(const Rule& rule, SlidingState& state, Amount cost, Instant now) {
  if (state.used() == 0) {
    begin(rule, state, Form::kLog, now);
  } else {
    move_newest(rule, state, now);
  }
  state.add(cost);
}

bool owns(const Rule& rule, const SlidingState& state, const HeldPart& part, Instant now) {
  const bool is_ring = state.form() == Form::kRing;
  return (is_ring ? ring_counts_until(rule, part.made_at) : log_counts_until(rule, part.made_at)) > now;
}

void release(const Rule& rule, SlidingState& state, const HeldPart& part, Instant now) {
  if (!owns(rule, state, part, now)) return;
  const Amount units = std::min(part.units, state.used());
  give_oldest(state, units - take_own(rule, state, part.made_at, units));
  if (state.used() == 0) clear(state);
}

void give_oldest(SlidingState& state, Amount units) {
  if (units == 0) return;
  const Amount taken = state.form() == Form::kRing ? take_from_ring(state, 0, state.ring.slots, units)
                                                   : take_from_log(state, Instant(), Instant::max(), units);
  state.subtract(units - taken);
  if (state.used() == 0) clear(state);
}

void set_used(const Rule& rule, SlidingState& state, Amount units, Instant now) {
  const Amount used = state.used();
  if (units > used) return charge(rule, state, units - used, now);
  give_oldest(state, used - units);
}

Duration wait_for(const Rule& rule, const SlidingState& state, Amount cost, const Moment& moment) {
  Amount wanted = state.used() + cost - rule.capacity;
  if (wanted <= 0) return {};
  Instant start = state.start;
  if (state.form() == Form::kRing) {
    const Amount quantum = ring::quantum(state);
    const std::int64_t slot = ring::slot_of_quantum(state, (wanted + quantum - 1) / quantum);
    start = start + Duration::from_ns(slot_width(rule).ns() * (slot - state.ring.slots));
  } else {
    for (const Charged& charge : log::read(state)) {
      start = charge.start;
      wanted -= charge.units;
      if (wanted <= 0) break;
    }
    if (wanted > 0) start = state.start;
  }
  return counts_for(rule, state, start, moment.now);
}

Duration reset_after(const Rule& rule, const SlidingState& state, const Moment& moment) {
  if (state.used() == 0) return {};
  Instant last = state.start;
  if (state.used() == older_units(state)) {  // the newest charge was given back
    if (state.form() == Form::kRing) {
      const std::int64_t slot = ring::slot_of_quantum(state, state.ring.units);
      last = last + Duration::from_ns(slot_width(rule).ns() * (slot - state.ring.slots));
    } else {
      last = log::read(state).back().start;
    }
  }
  return counts_for(rule, state, last, moment.now);
}

Charges charges_of(const Rule& rule, const SlidingState& state) {
  Charges charges;
  Amount newest = state.used();
  if (state.form() == Form::kRing) {
    const Duration width = slot_width(rule);
    Instant start = state.start + Duration::from_ns(-width.ns() * state.ring.slots);
    std::size_t position = 0;
    for (int slot = 0; slot < state.ring.slots; ++slot, start = start + width) {
      const auto units = static_cast<Amount>(ring::ones_from(ring::bits_of(state), position));
      position += static_cast<std::size_t>(units) + 1;
      if (units == 0) continue;
      charges.push_back({start, units * ring::quantum(state)});
      newest -= charges.back().units;
    }
  } else {
    for (const Charged& charge : log::read(state)) {
      charges.push_back(charge);
      newest -= charge.units;
    }
  }
  charges.push_back({state.start, newest});
  return charges;
}

SlidingState made_of(const Rule& rule, Form form, std::span<const Charged> charges) {
  SlidingState state;
  for (const Charged& charge : charges) {
    if (state.used() > 0) {
      move_newest(rule, state, charge.start);
    } else if (charge.units > 0) {
      begin(rule, state, form, charge.start);
    }
    state.add(charge.units);
  }
  return state;
}

SlidingState recode(const Rule& rule, const SlidingState& state) {
  if (state.form() == Form::kTwoWindows) return state;
  return made_of(rule, state.form(), charges_of(rule, state));
}

std::optional<SlidingState> read_state(std::string_view bytes) {
  SlidingState state;
  if (bytes.size() != kTwoWindowsBytes && bytes.size() != kSlidingSmallBytes && bytes.size() != kSlidingLargeBytes) {
    return std::nullopt;
  }
  std::memcpy(&state, bytes.data(), bytes.size());
  if (bytes.size() == kTwoWindowsBytes) {
    if (state.used_and_form > kAmountMax) return std::nullopt;
    state.set(state.used(), Form::kTwoWindows, false);
  }
  const bool is_empty = state.used_and_form == 0;
  const bool is_sound = state.used() <= kAmountMax && (!state.is_large() || bytes.size() == kSlidingLargeBytes);
  if (!is_empty && (!is_sound || !has_sound_charges(state))) return std::nullopt;
  return state;
}

}  // namespace mete::core::sliding
