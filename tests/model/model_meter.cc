#include "model/model_meter.h"

#include <algorithm>

#include "model/model_calendar.h"

namespace mete::model {

namespace {

Wide ceil_divide(Wide dividend, Wide divisor) { return (dividend + divisor - 1) / divisor; }

bool has_windows(Kind kind) { return kind == Kind::kWindow || kind == Kind::kCalendar; }

Duration to_duration(Wide ns) {
  return ns >= Duration::never().ns() ? Duration::never() : Duration::from_ns(static_cast<std::int64_t>(ns));
}

}  // namespace

Terms terms_of(const Limit& limit, std::optional<Amount> override_amount) {
  Terms terms;
  terms.kind = limit.kind();
  terms.amount = override_amount.value_or(limit.amount());
  terms.capacity = terms.amount;
  if (limit.kind() == Kind::kBucket && limit.burst()) {
    const Wide scaled = ceil_divide(Wide{*limit.burst()} * terms.amount, limit.amount());
    terms.capacity = std::min<Wide>(scaled, kAmountMax);
  }
  if (limit.period()) terms.period = limit.period()->ns();
  if (limit.unit()) terms.unit = *limit.unit();
  terms.anchor = limit.anchor().value_or(0);
  return terms;
}

WideSpan span_at(const Terms& terms, Wide at) {
  if (terms.kind == Kind::kCalendar) return calendar_span(terms.unit, terms.anchor, at);
  const Wide start = at / terms.period * terms.period;
  return {start, start + terms.period};
}

void ModelMeter::pass_to(Wide now) {
  if (terms_.kind == Kind::kBucket) {
    ticks_ -= terms_.amount * (now - now_);
    if (ticks_ <= -std::min(terms_.amount, terms_.period)) ticks_ = 0;
  }
  if (terms_.kind == Kind::kSliding) sliding_.pass_to(now);
  now_ = now;
}

Wide ModelMeter::charged_in(const WideSpan& span) const {
  Wide sum = 0;
  for (const Entry& entry : entries_) {
    if (entry.at >= span.start && entry.at < span.end) sum += entry.units;
  }
  return sum;
}

Amount ModelMeter::usage() const {
  if (terms_.kind == Kind::kBucket) return static_cast<Amount>(ceil_divide(ticks_used(), terms_.period));
  if (terms_.kind == Kind::kStock) return static_cast<Amount>(stock_);
  if (terms_.kind == Kind::kSliding) return static_cast<Amount>(sliding_.usage());
  return static_cast<Amount>(charged_in(span_at(terms_, now_)));
}

Amount ModelMeter::remaining() const { return std::max<Amount>(0, capacity() - usage()); }

bool ModelMeter::fits(Wide cost) const {
  if (terms_.kind == Kind::kBucket) return ticks_used() + cost * terms_.period <= terms_.capacity * terms_.period;
  return usage() + cost <= terms_.capacity;
}

Duration ModelMeter::reset_after() const {
  if (terms_.kind == Kind::kStock) return Duration::never();
  if (terms_.kind == Kind::kBucket) return to_duration(ceil_divide(ticks_used(), terms_.amount));
  if (usage() == 0) return {};
  if (terms_.kind == Kind::kSliding) return to_duration(sliding_.empty_at() - now_);
  return to_duration(span_at(terms_, now_).end - now_);
}

bool ModelMeter::fits_at(Wide at, Wide cost, const std::vector<OpenPart>& parts) const {
  ModelMeter later = *this;
  for (const OpenPart& part : parts) {
    if (part.expires_at > at) break;
    later.pass_to(part.expires_at);
    later.come_back(part.units, part.made_at);
  }
  later.pass_to(at);
  return later.fits(cost);
}

Duration ModelMeter::retry_after(Wide cost, const std::vector<OpenPart>& parts) const {
  if (fits_at(now_, cost, parts)) return {};
  Wide too_short = 0;
  Wide enough = Wide{Duration::never().ns()} - 1;
  if (!fits_at(now_ + enough, cost, parts)) return Duration::never();
  while (enough - too_short > 1) {
    const Wide middle = (too_short + enough) / 2;
    (fits_at(now_ + middle, cost, parts) ? enough : too_short) = middle;
  }
  return to_duration(enough);
}

Wide ModelMeter::ticks_back(Amount units, Wide made_at) const {
  return std::max<Wide>(0, units * terms_.period - terms_.amount * (now_ - made_at));
}

Amount ModelMeter::would_come_back(Amount units, Wide made_at) const {
  if (terms_.kind == Kind::kBucket) return static_cast<Amount>(ceil_divide(ticks_back(units, made_at), terms_.period));
  if (terms_.kind == Kind::kStock) return units;
  if (terms_.kind == Kind::kSliding) return sliding_.counts(made_at, now_) ? units : 0;
  return made_at >= span_at(terms_, now_).start ? units : 0;
}

Amount ModelMeter::surely_comes_back(Amount units, Wide made_at) const {
  if (terms_.kind == Kind::kBucket) return static_cast<Amount>(ticks_back(units, made_at) / terms_.period);
  return would_come_back(units, made_at);
}

Amount ModelMeter::givable(Amount held) const {
  const Wide charged = has_windows(terms_.kind) ? charged_in(span_at(terms_, now_)) : Wide{usage()};
  return static_cast<Amount>(std::max<Wide>(0, charged - held));
}

void ModelMeter::charge(Amount units) {
  if (terms_.kind == Kind::kBucket) {
    ticks_ += units * terms_.period;
  } else if (terms_.kind == Kind::kStock) {
    stock_ += units;
  } else if (terms_.kind == Kind::kSliding) {
    sliding_.charge(units, now_);
  } else {
    entries_.push_back({now_, units});
  }
}

void ModelMeter::remove_from_current(Wide units) {
  const WideSpan window = span_at(terms_, now_);
  for (Entry& entry : entries_) {
    if (entry.at < window.start || entry.at >= window.end) continue;
    const Wide removed = std::min(units, entry.units);
    entry.units -= removed;
    units -= removed;
  }
}

void ModelMeter::come_back(Amount units, Wide made_at) {
  if (terms_.kind == Kind::kBucket) {
    ticks_ = std::max<Wide>(0, ticks_ - ticks_back(units, made_at));
  } else if (terms_.kind == Kind::kSliding) {
    sliding_.release(would_come_back(units, made_at), made_at);
  } else {
    give(would_come_back(units, made_at));
  }
}

void ModelMeter::give(Amount units) {
  if (terms_.kind == Kind::kBucket) {
    ticks_ = std::max<Wide>(0, ticks_ - units * terms_.period);
  } else if (terms_.kind == Kind::kStock) {
    stock_ = std::max<Wide>(0, stock_ - units);
  } else if (terms_.kind == Kind::kSliding) {
    sliding_.give(units);
  } else {
    remove_from_current(units);
  }
}

void ModelMeter::set_usage(Amount units) {
  if (terms_.kind == Kind::kSliding) {
    // A difference, so that what is charged stays where it was.
    const Amount used = usage();
    return units > used ? charge(units - used) : give(used - units);
  }
  ticks_ = 0;
  stock_ = 0;
  entries_.clear();
  charge(units);
}

bool ModelMeter::goes_on_under(const Terms& terms) const {
  if (terms == terms_) return true;
  if (terms.kind != terms_.kind || terms.kind == Kind::kBucket) return false;
  if (terms.kind == Kind::kSliding) return terms.period == terms_.period;
  return !has_windows(terms.kind) || span_at(terms_, now_) == span_at(terms, now_);
}

void ModelMeter::redefine(const Terms& terms) {
  if (goes_on_under(terms)) {
    if (terms == terms_) return;
    terms_ = terms;
    if (terms.kind == Kind::kSliding) {
      sliding_.set_terms(terms.amount, terms.period);
      sliding_.replay();
    }
    return;
  }
  if (terms_.kind == Kind::kBucket && terms.kind == Kind::kBucket) {
    const Wide units = ticks_used() / terms_.period;
    const Wide fraction = ticks_used() % terms_.period;  // of a unit
    const Wide microseconds = ceil_divide(fraction * terms.period, terms_.period * 1000);
    ticks_ = units * terms.period + std::min(microseconds * 1000, terms.period);
    terms_ = terms;
    return;
  }
  const Amount units = usage();
  terms_ = terms;
  ticks_ = 0;
  stock_ = 0;
  entries_.clear();
  sliding_ = {};
  sliding_.set_terms(terms.amount, terms.period);
  charge(units);
}

}  // namespace mete::model
