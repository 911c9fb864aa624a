#include "store/redis/meter_image.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "store/redis/plain_take.h"

namespace mete::store::redis {

// What a value says, whatever its limit.
struct MeterValue {
  bool is_plain = false;
  int slot = kNoSlot;                  // plain
  std::vector<std::uint64_t> numbers;  // the revision and the state; of a plain one when it is full
  char form = 0;                       // of a sliding meter: 'e' a log, 's' a ring; 0 two windows
  std::vector<std::uint64_t> list;     // its older charges
  std::optional<Amount> own_amount;
};

namespace {

Error unreadable(std::string_view value) {
  return base::unavailable("a meter in Redis cannot be read: '" + std::string(value) +
                           "': something else may have written it");
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::vector<std::uint64_t> take_numbers(std::string_view& text) {
  std::vector<std::uint64_t> numbers;
  while (const auto number = take_number(text)) {
    numbers.push_back(*number);
    if (!text.starts_with(':')) break;
    text.remove_prefix(1);
  }
  return numbers;
}

Result<MeterValue> parse_value(std::string_view text) {
  MeterValue value;
  std::string_view rest = text;
  value.is_plain = !rest.starts_with('r');
  if (!value.is_plain) rest.remove_prefix(1);
  value.numbers = take_numbers(rest);
  if (value.is_plain) {
    if (value.numbers.size() != 1 || !rest.empty()) return unreadable(text);
    const std::uint64_t number = value.numbers[0];
    value.slot = static_cast<int>(number % 10);
    value.numbers[0] = number / 10 + kPlainEpochUs;
    return value;
  }
  if (rest.starts_with('e') || rest.starts_with('s')) {
    value.form = rest.front();
    rest.remove_prefix(1);
    value.list = take_numbers(rest);
  }
  if (rest.starts_with('o')) {
    rest.remove_prefix(1);
    const auto amount = take_number(rest);
    if (!amount) return unreadable(text);
    value.own_amount = static_cast<Amount>(*amount);
  }
  if (rest.starts_with('+')) {
    rest.remove_prefix(1);
    (void)take_number(rest);  // when the first part is due: they are here themselves
  }
  if (!rest.empty() || value.numbers.size() < 2) return unreadable(text);
  return value;
}

std::size_t numbers_of(Kind kind) {
  switch (kind) {
    case Kind::kBucket:
    case Kind::kSliding:
      return 3;
    case Kind::kWindow:
    case Kind::kCalendar:
      return 2;
    case Kind::kStock:
      return 1;
  }
  __builtin_unreachable();
}

Amount amount_of(std::uint64_t number) { return static_cast<Amount>(number); }

constexpr std::uint64_t kSlotNumbers = 1000;  // lua/sliding.lua: a slot is named by its number modulo this

std::uint64_t slot_number(const core::Rule& rule, Instant start) {
  return start.ns() / static_cast<std::uint64_t>(core::sliding::slot_width(rule).ns()) % kSlotNumbers;
}

core::SlidingState sliding_of(const core::Rule& rule, const MeterValue& value) {
  const Instant start = instant_of(value.numbers[1]);
  core::SlidingState state;
  if (value.form == 0) {
    state.start = start;
    state.set(amount_of(value.numbers[2]), core::SlidingState::Form::kTwoWindows, false);
    state.previous = amount_of(value.numbers[3]);
    return state;
  }
  const bool is_ring = value.form == 's';
  core::sliding::Charges charges;
  for (std::size_t i = 0; i + 1 < value.list.size() && charges.size() < core::sliding::kSlots; i += 2) {
    const std::uint64_t age = (slot_number(rule, start) + kSlotNumbers - value.list[i] % kSlotNumbers) % kSlotNumbers;
    const auto age_ns = static_cast<std::int64_t>(age) * core::sliding::slot_width(rule).ns();
    charges.push_back(
        {is_ring ? start + Duration::from_ns(-age_ns) : instant_of(value.list[i]), amount_of(value.list[i + 1])});
  }
  charges.push_back({start, amount_of(value.numbers[3])});
  return core::sliding::made_of(rule, is_ring ? core::SlidingState::Form::kRing : core::SlidingState::Form::kLog,
                                charges);
}

// Adds the numbers of a state, and returns what follows them.
std::string list_of(const core::Rule& rule, const core::SlidingState& state, std::vector<std::uint64_t>& numbers) {
  const bool is_ring = state.form() == core::SlidingState::Form::kRing;
  const core::sliding::Charges charges = core::sliding::charges_of(rule, state);
  numbers.insert(numbers.end(),
                 {us_of(state.start), base::to_unsigned(state.used()), base::to_unsigned(charges.back().units)});
  std::string list(1, is_ring ? 's' : 'e');
  for (const core::sliding::Charged& charge : std::span(charges).first(charges.size() - 1)) {
    list += std::to_string(is_ring ? slot_number(rule, charge.start) : us_of(charge.start)) + ":" +
            std::to_string(charge.units) + ":";
  }
  return list;
}

}  // namespace

// The limit's rule, with the key's own amount if it has one.
const engine::RuleRecord& MeterImage::rule_of(const engine::RuleRecord& limit_rule) {
  if (!own_amount_) return limit_rule;
  previous_rule_ = std::move(own_rule_);
  own_rule_ =
      std::make_unique<engine::RuleRecord>(core::with_amount(limit_rule.rule(), *own_amount_), limit_rule.calendar());
  return *own_rule_;
}

// The numbers behind the revision.
void MeterImage::read_state(const MeterValue& value) {
  const std::span<const std::uint64_t> numbers = std::span(value.numbers).subspan(1);
  const core::Rule& rule = access_.rule->rule();
  core::State& state = access_.state;
  switch (rule.kind) {
    case Kind::kBucket: {
      const auto missing = base::multiply(numbers[1], rule.period_ns()) + base::multiply(numbers[2], 1000);
      state.bucket.set_full_at(core::bucket::now_ticks(rule, instant_of(numbers[0])) + missing);
      return;
    }
    case Kind::kWindow:
    case Kind::kCalendar:
      state.window = {instant_of(numbers[0]), amount_of(numbers[1])};
      return;
    case Kind::kSliding:
      state.sliding = sliding_of(rule, value);
      return;
    case Kind::kStock:
      state.stock.used = amount_of(numbers[0]);
      return;
  }
}

void MeterImage::read_parts(const wire::RespValue& fields) {
  for (std::size_t i = 0; i + 1 < fields.elements.size(); i += 2) {
    const std::string& field = fields.elements[i].text;
    std::string_view text = fields.elements[i + 1].text;
    if (field == "n") {
      parts_version_ = text;
      continue;
    }
    std::string_view name = field;
    const auto charge = take_number(name);
    const auto numbers = take_numbers(text);
    if (!charge || !name.starts_with(':') || numbers.size() != 4) continue;
    engine::OpenPart part;
    part.units = amount_of(numbers[0]);
    part.made_at = instant_of(numbers[1]);
    part.expires_at = instant_of(numbers[2]);
    part.serial = numbers[3];
    part.charge = *charge;
    part.id = name.substr(1);
    parts_.insert(std::move(part));
  }
  access_.parts = parts_.empty() ? nullptr : &parts_;
}

void MeterImage::expire_parts(Instant until) {
  while (!parts_.empty() && parts_.begin()->expires_at <= until) {
    const auto part = parts_.begin();
    core::expire(access_.rule->rule(), access_.state, *part, access_.rule->moment(access_.state, part->expires_at));
    parts_.erase(part);
  }
  if (parts_.empty()) access_.parts = nullptr;
}

// Moves the meter from its rule to that of another revision, at one instant.
void MeterImage::rebase(const engine::RuleRecord& to, Instant at) {
  expire_parts(at);
  access_.rebase(rule_of(to), at);
}

void MeterImage::settle(Instant now) {
  expire_parts(now);
  access_.moment = access_.rule->moment(access_.state, now);
  core::settle(access_.rule->rule(), access_.state, access_.moment);
}

Result<std::unique_ptr<MeterImage>> MeterImage::found(const KnownLimit& limit, std::string_view key,
                                                      std::string_view text, const wire::RespValue& parts,
                                                      std::uint64_t now_us) {
  std::unique_ptr<MeterImage> image(new MeterImage);
  image->key_ = key;
  image->access_.limit_name = limit.definition().name();
  image->access_.key = image->key_;
  image->access_.limit = &limit.record();
  image->access_.rule = &limit.rule();
  const LimitEntry& entry = limit.entry();
  if (!text.empty()) {
    const auto value = TRY(parse_value(text));
    // Which revision the value is of; none if it is void.
    const engine::RuleRecord* rule = nullptr;
    std::size_t next = 0;  // of the earlier revisions, the one that it is in
    const auto is_of = [&](std::uint64_t rev, int slot) {
      return value.is_plain ? slot == value.slot : rev == value.numbers[0];
    };
    while (next < limit.earlier().size() && !is_of(limit.earlier()[next].rev, limit.earlier()[next].slot)) ++next;
    if (next < limit.earlier().size()) {
      rule = limit.earlier()[next].rule.get();
    } else if (is_of(entry.rev, entry.slot)) {
      rule = &limit.rule();
    }
    const bool is_of_this_limit = value.is_plain || value.numbers[0] >= entry.born;
    if (is_of_this_limit) image->own_amount_ = value.own_amount;
    if (!value.is_plain && value.numbers[0] > entry.rev) return nullptr;
    if (rule != nullptr) {
      image->access_.rule = &image->rule_of(*rule);
      if (value.is_plain) {
        image->access_.state.bucket.set_full_at(core::bucket::now_ticks(rule->rule(), instant_of(value.numbers[0])));
      } else {
        if (value.numbers.size() != 1 + numbers_of(rule->rule().kind)) return unreadable(text);
        image->read_state(value);
      }
      image->read_parts(parts);
      for (; next < limit.earlier().size(); ++next) {
        const bool is_last = next + 1 == limit.earlier().size();
        image->rebase(is_last ? limit.rule() : *limit.earlier()[next + 1].rule,
                      instant_of(limit.earlier()[next].until_us));
      }
    } else {
      image->access_.rule = &image->rule_of(limit.rule());
      for (std::size_t i = 0; i + 1 < parts.elements.size(); i += 2) {
        if (parts.elements[i].text == "n") image->parts_version_ = parts.elements[i + 1].text;
      }
    }
  }
  image->settle(instant_of(now_us));
  return image;
}

Result<std::unique_ptr<MeterImage>> MeterImage::told(std::string_view limit, std::string_view key,
                                                     std::string_view terms, const wire::RespValue& state,
                                                     std::uint64_t now_us) {
  std::unique_ptr<MeterImage> image(new MeterImage);
  std::string_view rest = terms.substr(std::min<std::size_t>(2, terms.size()));
  std::vector<std::uint64_t> numbers;
  while (const auto number = take_number(rest)) {
    numbers.push_back(*number);
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
  }
  const std::size_t kind = kKindLetters.find(terms.substr(0, 1));
  if (terms.empty() || kind == std::string_view::npos || numbers.size() < 9 || state.elements.empty()) {
    return unreadable(terms);
  }
  const core::Rule rule{.kind = static_cast<Kind>(kind),
                        .amount = amount_of(numbers[0]),
                        .capacity = amount_of(numbers[1]),
                        .period = Duration(std::chrono::microseconds(numbers[2]))};
  const core::Span period{instant_of(numbers[6]), instant_of(numbers[7])};
  image->key_ = key;
  image->limit_name_ = limit;
  image->own_record_ =
      std::make_unique<engine::LimitRecord>(Limit(rule.kind, image->limit_name_).shadow(numbers[8] == 1), 0);
  image->access_.limit = image->own_record_.get();
  image->access_.limit_name = image->limit_name_;
  image->access_.key = image->key_;
  const auto value = TRY(parse_value(state.elements[0].text));
  image->own_amount_ = value.own_amount;
  image->own_rule_ = std::make_unique<engine::RuleRecord>(
      value.own_amount ? core::with_amount(rule, *value.own_amount) : rule, std::nullopt);
  image->access_.rule = image->own_rule_.get();
  if (value.numbers.size() != 1 + numbers_of(rule.kind)) return unreadable(state.elements[0].text);
  image->read_state(value);
  for (std::size_t i = 1; i < state.elements.size(); ++i) {
    std::string_view text = state.elements[i].text;
    const auto part_numbers = take_numbers(text);
    if (part_numbers.size() != 3) return unreadable(state.elements[i].text);
    engine::OpenPart part;
    part.units = amount_of(part_numbers[0]);
    part.made_at = instant_of(part_numbers[1]);
    part.expires_at = instant_of(part_numbers[2]);
    part.serial = i;
    image->parts_.insert(std::move(part));
  }
  if (!image->parts_.empty()) image->access_.parts = &image->parts_;
  const Instant now = core::not_before(rule, image->access_.state, instant_of(now_us));
  image->access_.moment = {now, {}};
  if (rule.kind == Kind::kCalendar) image->access_.moment.window = period;
  if (rule.kind == Kind::kWindow) {
    image->access_.moment.window = core::fixed_window(rule.period, now);
  }
  return image;
}

std::unique_ptr<MeterImage> MeterImage::plain(const KnownLimit& limit, std::string_view key, std::uint64_t full_us,
                                              std::uint64_t now_us) {
  std::unique_ptr<MeterImage> image(new MeterImage);
  image->key_ = key;
  image->access_.limit = &limit.record();
  image->access_.limit_name = limit.definition().name();
  image->access_.key = image->key_;
  image->access_.rule = &limit.rule();
  image->access_.state.bucket.set_full_at(core::bucket::now_ticks(limit.rule().rule(), instant_of(full_us)));
  image->access_.moment = {instant_of(now_us), {}};
  return image;
}

bool MeterImage::is_of_present_revision(const KnownLimit& limit, std::string_view text) {
  const auto value = parse_value(text);
  if (!value) return true;  // not for us to touch
  return value->is_plain ? value->slot == limit.entry().slot : value->numbers[0] == limit.entry().rev;
}

void MeterImage::set_own_amount(const KnownLimit& limit, std::optional<Amount> amount) {
  const Instant now = access_.moment.now;
  const auto old_rule = std::move(own_rule_);  // what rebase() starts from
  own_amount_ = amount;
  rebase(limit.rule(), now);
  settle(now);
}

MeterImage::Text MeterImage::text(const KnownLimit& limit) const {
  const core::Rule& rule = access_.rule->rule();
  const core::State& state = access_.state;
  const bool is_fresh = core::is_fresh(rule, state, access_.moment);
  if (is_fresh && !own_amount_ && parts_.empty()) return {};
  std::vector<std::uint64_t> numbers = {limit.entry().rev};
  std::string list;
  switch (rule.kind) {
    case Kind::kBucket: {
      const auto backlog = core::bucket::backlog(rule, state.bucket, access_.moment.now);
      const auto units = base::div_floor(backlog, rule.period_ns());
      const auto fraction = (backlog - units * rule.period_ns()) / 1000;
      numbers.insert(numbers.end(), {us_of(access_.moment.now), static_cast<std::uint64_t>(units),
                                     static_cast<std::uint64_t>(fraction)});
      break;
    }
    case Kind::kWindow:
    case Kind::kCalendar:
      numbers.insert(numbers.end(), {us_of(state.window.start), base::to_unsigned(state.window.used)});
      break;
    case Kind::kSliding:
      list = list_of(rule, state.sliding, numbers);
      break;
    case Kind::kStock:
      numbers.push_back(base::to_unsigned(state.stock.used));
      break;
  }
  Text text;
  for (const std::uint64_t number : numbers) text.value += (text.value.empty() ? "r" : ":") + std::to_string(number);
  text.value += list;
  if (own_amount_) text.value += "o" + std::to_string(*own_amount_);
  Instant last = access_.moment.now;
  for (const engine::OpenPart& part : parts_) {
    last = std::max(last, part.expires_at);
    text.parts.push_back(std::to_string(part.charge) + ":" + part.id);
    text.parts.push_back(std::to_string(part.units) + ":" + std::to_string(us_of(part.made_at)) + ":" +
                         std::to_string(us_of(part.expires_at)) + ":" + std::to_string(part.serial));
  }
  if (!parts_.empty()) text.value += "+" + std::to_string(us_of(parts_.begin()->expires_at));
  const Duration reset = access_.reset_after();
  if (own_amount_ || reset.is_never()) return text;
  text.until_us = us_of(std::max(access_.moment.now + reset, last)) + 1;
  return text;
}

}  // namespace mete::store::redis
