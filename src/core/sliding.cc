#include "core/sliding.h"

#include "base/check.h"
#include "core/sliding_log.h"
#include "core/sliding_ring.h"

namespace mete::core::sliding {

namespace {

using Form = SlidingState::Form;

// How many quanta the slots before the newest one keep. The charge that makes a slot the newest fits, so what was used
// before it is a unit less than the amount: all of it has room, but what FORCE has charged beyond the amount. That is
// carried on, as what is no whole quantum is. Up to three slots have a part of a quantum, so there may be three more.
constexpr Amount kLargeQuanta = 1889;
constexpr Amount kSmallQuanta = ring::kSmallQuantaMax;
static_assert(kLargeQuanta + static_cast<Amount>(ring::kPartsMax) <= ring::kLargeQuantaMax);

bool is_large(const Rule& rule) { return rule.capacity > kSmallAmountMax; }

Amount quantum_of(const Rule& rule) { return is_large(rule) ? (rule.capacity + kLargeQuanta - 1) / kLargeQuanta : 1; }

Amount quanta_max(const SlidingState& state) { return state.is_large() ? kLargeQuanta : kSmallQuanta; }

// How much longer the charge, or slot, that starts there counts. Even if that is past the end of time.
Duration counts_for(const Rule& rule, const SlidingState& state, Instant start, Instant now) {
  return rule.period + lag(rule, state) + (start - now);
}

Amount older_units(const SlidingState& state) {
  return state.form() == Form::kRing ? ring::units(state) : log::units(state);
}

void clear(SlidingState& state) { state = SlidingState(); }

bool has_sound_charges(const SlidingState& state) {
  switch (state.form()) {
    case Form::kLog:
      return log::units(state) >= 0 && log::units(state) <= state.used();
    case Form::kRing:
      return ring::is_sound(state);
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
  if (form == Form::kRing) ring::begin(state, quantum_of(rule));
}

// Makes another slot of the ring the newest.
void leave_slot(const Rule& rule, SlidingState& state, Instant slot) {
  if (slot <= state.start) return;
  const Amount quantum = ring::quantum(state);
  const Amount older = ring::units(state);
  const Amount room = std::max<Amount>(0, quanta_max(state) * quantum - older) / quantum;
  const Amount left = std::min((state.used() - older) / quantum, room);
  const auto passed = (slot - state.start).ns() / slot_width(rule).ns();
  // Whatever is more than a ring of slots away no longer counts.
  const std::int64_t gone = std::min<std::int64_t>(state.ring.slots + passed - kSlots, state.ring.slots);
  if (gone > 0) state.subtract(ring::drop_oldest(state, gone));
  ring::append(state, left, std::min<std::int64_t>(passed, kSlots));
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
  state.subtract(ring::drop_oldest(state, std::min<std::int64_t>(passed / width, state.ring.slots)));
}

// Besides the oldest charge, two may have part of a quantum. Of three that have, two neighbours are evened: the older
// one gives the younger so much that one of the two has none any more. Those are chosen for which that moves the least,
// units by time.
void even(Charges& charges, Amount quantum) {
  boost::container::static_vector<std::size_t, kSlots> parts;
  for (std::size_t i = 1; i < charges.size(); ++i) {
    if (charges[i].units % quantum != 0) parts.push_back(i);
  }
  const auto moved = [&](std::size_t part) {
    return std::min(charges[parts[part]].units % quantum, quantum - charges[parts[part + 1]].units % quantum);
  };
  const auto cost = [&](std::size_t part) {
    const Duration time = charges[parts[part + 1]].start - charges[parts[part]].start;
    return base::multiply(base::to_unsigned(moved(part)), base::to_unsigned(time.ns()));
  };
  while (parts.size() >= ring::kPartsMax) {
    std::size_t least = 0;
    for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
      if (cost(i) < cost(least)) least = i;
    }
    const Amount units = moved(least);
    charges[parts[least]].units -= units;
    charges[parts[least + 1]].units += units;
    parts.erase(std::remove_if(parts.begin(), parts.end(),
                               [&](std::size_t part) { return charges[part].units % quantum == 0; }),
                parts.end());
  }
}

void drop_empty(Charges& charges) {
  charges.erase(std::remove_if(charges.begin(), charges.end(), [](const Charged& charge) { return charge.units == 0; }),
                charges.end());
}

// The older charges, in the slots before the newest one.
void write_ring(const Rule& rule, SlidingState& state, Charges& older) {
  const Amount quantum = ring::quantum(state);
  drop_empty(older);
  if (quantum > 1) even(older, quantum);
  drop_empty(older);
  ring::begin(state, quantum);
  std::size_t parts = 0;
  for (const Charged& charge : older) {
    const Instant next = &charge == &older.back() ? state.start : (&charge)[1].start;
    const Amount quanta = (charge.units + quantum - 1) / quantum;
    const Amount gone = quanta * quantum - charge.units;
    if (gone > 0) ring::set_part(state, parts++, {state.ring.slots, gone});
    ring::append(state, quanta, (next - charge.start).ns() / slot_width(rule).ns());
  }
}

void write_log(SlidingState& state, Charges& older) {
  drop_empty(older);
  log::write(state, {older.begin(), older.end()});
}

// Takes so many units, at most what is used, out of the charges from an instant on, or its slot, the oldest first; and
// what these do not have, from the oldest of all.
void take_from(const Rule& rule, SlidingState& state, Instant from, Amount units) {
  if (from < state.start || units > state.used() - older_units(state)) {
    Charges charges = charges_of(rule, state);
    Amount left = units;
    for (const Instant first : {from, Instant()}) {
      for (Charged& charge : charges) {
        const Amount taken = charge.start < first ? 0 : std::min(left, charge.units);
        charge.units -= taken;
        left -= taken;
      }
    }
    charges.pop_back();
    state.form() == Form::kRing ? write_ring(rule, state, charges) : write_log(state, charges);
  }
  state.subtract(units);
  if (state.used() == 0) clear(state);
}

// Whether the charges can lie in slots as they are.
bool fit_ring(const Rule& rule, std::span<const Charged> charges) {
  const Duration width = slot_width(rule);
  const Instant newest = charges.back().start;
  Amount quanta = 0;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (charges[i].start != slot_of(rule, charges[i].start)) return false;
    if (i > 0 && charges[i].start <= charges[i - 1].start) return false;
    if (i + 1 < charges.size()) quanta += (charges[i].units + quantum_of(rule) - 1) / quantum_of(rule);
  }
  return quanta <= (is_large(rule) ? ring::kLargeQuantaMax : ring::kSmallQuantaMax) &&
         (newest - charges.front().start).ns() <= width.ns() * kSlots;
}

}  // namespace

void let_pass(const Rule& rule, SlidingState& state, Instant now) {
  if (state.form() == Form::kTwoWindows) turn_into_charges(rule, state, now);
  if (state.has_ring_of_earlier_version()) state = ring_of(rule, charges_of(rule, state));
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

bool owns(const Rule& rule, const HeldPart& part, Instant now) { return comes_back_until(rule, part.made_at) > now; }

void release(const Rule& rule, SlidingState& state, const HeldPart& part, Instant now) {
  if (!owns(rule, part, now)) return;
  const Instant place = state.form() == Form::kRing ? slot_of(rule, part.made_at) : part.made_at;
  take_from(rule, state, place, std::min(part.units, state.used()));
}

void give_oldest(const Rule& rule, SlidingState& state, Amount units) {
  if (units > 0) take_from(rule, state, Instant(), units);
}

void set_used(const Rule& rule, SlidingState& state, Amount units, Instant now) {
  const Amount used = state.used();
  if (units > used) return charge(rule, state, units - used, now);
  give_oldest(rule, state, used - units);
}

Duration wait_for(const Rule& rule, const SlidingState& state, Amount cost, const Moment& moment) {
  Amount wanted = state.used() + cost - rule.capacity;
  if (wanted <= 0) return {};
  Instant start = state.start;
  if (state.form() == Form::kRing) {
    const std::int64_t slot = ring::slot_of_unit(state, wanted);
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
      const std::int64_t slot = ring::slot_of_unit(state, ring::units(state));
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
    ring::Slots slots(state);
    for (std::int64_t slot = 0; slot < state.ring.slots; ++slot, start = start + width) {
      const std::int64_t empty = slots.skip_empty(state.ring.slots - slot);
      slot += empty;
      start = start + Duration::from_ns(width.ns() * empty);
      if (slot == state.ring.slots) break;
      const Amount quanta = slots.next();
      charges.push_back({start, quanta * ring::quantum(state) - ring::gone_of(state, slot)});
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

SlidingState ring_of(const Rule& rule, const Charges& charges) {
  if (!fit_ring(rule, charges)) return made_of(rule, Form::kRing, charges);
  SlidingState state;
  begin(rule, state, Form::kRing, charges.back().start);
  for (const Charged& charge : charges) state.add(charge.units);
  Charges older(charges.begin(), charges.end() - 1);
  write_ring(rule, state, older);
  if (state.used() == 0) clear(state);
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
