#include "store/redis/meter_image.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "core/validate.h"
#include "store/redis/names.h"
#include "store/redis/plain_take.h"
#include "store/redis/replies.h"

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

Error unreadable(std::string_view value) { return unexpected_reply("'" + std::string(value) + "' as a meter"); }

// What every number of a record is at most, so that sums of two stay within 64 bits, and times within an Instant.
constexpr std::uint64_t kNumberMax = (std::uint64_t{1} << 53) - 1;

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || number > kNumberMax) return std::nullopt;
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
    if (!amount || !core::validate_amount(static_cast<Amount>(*amount))) return unreadable(text);
    value.own_amount = static_cast<Amount>(*amount);
  }
  if (rest.starts_with('+')) {
    rest.remove_prefix(1);
    // When the first part is due: they are here themselves, and an error about one names it.
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0) return unreadable(text);
    rest.remove_prefix(digits);
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

// Whether the charges of a sliding meter can be so: the older ones in their order, and all of them what is used.
bool is_sound(const core::sliding::Charges& charges, Amount used) {
  Amount sum = 0;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (i > 0 && charges[i].start < charges[i - 1].start) return false;
    if (charges[i].units > used - sum) return false;
    sum += charges[i].units;
  }
  return sum == used;
}

// None if there is no such state.
std::optional<core::SlidingState> sliding_of(const core::Rule& rule, const MeterValue& value) {
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
  if (value.list.size() != 2 * charges.size()) return std::nullopt;
  charges.push_back({start, amount_of(value.numbers[3])});
  if (!is_sound(charges, amount_of(value.numbers[2]))) return std::nullopt;
  if (is_ring) return core::sliding::ring_of(rule, charges);
  return core::sliding::made_of(rule, core::SlidingState::Form::kLog, charges);
}

// Whether a limit can have such numbers: its terms were kept with an answer, where anybody may have changed them.
bool is_sound(const core::Rule& rule) {
  const bool has_period = rule.kind != Kind::kStock && rule.kind != Kind::kCalendar;
  return core::validate_amount(rule.amount).has_value() && core::validate_amount(rule.capacity).has_value() &&
         (!has_period || rule.period >= kPeriodMin);
}

Error unreadable_part(const engine::MeterAccess& meter, std::string_view field, std::string_view text) {
  const std::string name = held_key(meter_key(meter.limit_name, meter.key));
  return unreadable_record(name, std::string(field) + ": " + std::string(text));
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

std::optional<core::SlidingState> read_sliding(const core::Rule& rule, std::string_view state) {
  auto value = parse_value("r0:" + std::string(state));
  if (!value) return std::nullopt;
  if (value->numbers.size() == numbers_of(Kind::kSliding)) value->numbers.push_back(value->numbers.back());
  if (value->numbers.size() != numbers_of(Kind::kSliding) + 1) return std::nullopt;
  return sliding_of(rule, *value);
}

// The limit's rule, with the key's own amount if it has one.
const engine::RuleRecord& MeterImage::rule_of(const engine::RuleRecord& limit_rule) {
  if (!own_amount_) return limit_rule;
  previous_rule_ = std::move(own_rule_);
  own_rule_ =
      std::make_unique<engine::RuleRecord>(core::with_amount(limit_rule.rule(), *own_amount_), limit_rule.calendar());
  return *own_rule_;
}

// The numbers behind the revision; false if they are none of such a meter.
bool MeterImage::read_state(const MeterValue& value) {
  const std::span<const std::uint64_t> numbers = std::span(value.numbers).subspan(1);
  const core::Rule& rule = access_.rule->rule();
  core::State& state = access_.state;
  if (numbers.size() != numbers_of(rule.kind)) return false;
  switch (rule.kind) {
    case Kind::kBucket: {
      if (numbers[2] >= rule.period_ns() / 1000) return false;
      const auto missing = base::multiply(numbers[1], rule.period_ns()) + base::multiply(numbers[2], 1000);
      state.bucket.set_full_at(core::bucket::now_ticks(rule, instant_of(numbers[0])) + missing);
      return true;
    }
    case Kind::kWindow:
    case Kind::kCalendar:
      state.window = {instant_of(numbers[0]), amount_of(numbers[1])};
      return true;
    case Kind::kSliding: {
      const auto sliding = sliding_of(rule, value);
      if (sliding) state.sliding = *sliding;
      return sliding.has_value();
    }
    case Kind::kStock:
      state.stock.used = amount_of(numbers[0]);
      return true;
  }
  __builtin_unreachable();
}

Result<void> MeterImage::read_parts(const wire::RespValue& fields) {
  for (std::size_t i = 0; i + 1 < fields.elements.size(); i += 2) {
    const std::string& field = fields.elements[i].text;
    std::string_view text = fields.elements[i + 1].text;
    if (field == "n") {
      parts_version_ = text;
      if (!take_number(text) || !text.empty()) return unreadable_part(access_, field, parts_version_);
      continue;
    }
    std::string_view name = field;
    const auto charge = take_number(name);
    const auto numbers = take_numbers(text);
    if (!charge || !name.starts_with(':') || numbers.size() != 4 || !text.empty()) {
      return unreadable_part(access_, field, fields.elements[i + 1].text);
    }
    engine::OpenPart part;
    part.units = amount_of(numbers[0]);
    part.made_at = instant_of(numbers[1]);
    part.expires_at = instant_of(numbers[2]);
    part.serial = numbers[3];
    part.charge = *charge;
    part.id = name.substr(1);
    parts_.erase(part);
    parts_.insert(part, access_.rule->rule(), access_.state);
  }
  access_.parts = parts_.empty() ? nullptr : &parts_;
  return {};
}

void MeterImage::expire_parts(Instant until) {
  while (!parts_.empty() && parts_.first().expires_at <= until) {
    const engine::OpenPart& part = parts_.first();
    core::expire(access_.rule->rule(), access_.state, part, access_.rule->moment(access_.state, part.expires_at));
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
    // Others than those known are of a limit that was dropped, or of before everything was cleared.
    const bool may_be_void = value.is_plain ? entry.cleared > 1 : value.numbers[0] < entry.cleared;
    if (rule == nullptr && !may_be_void && (value.is_plain || value.numbers[0] <= entry.rev)) return unreadable(text);
    const bool is_of_this_limit = value.is_plain || value.numbers[0] >= entry.born;
    if (is_of_this_limit) image->own_amount_ = value.own_amount;
    if (!value.is_plain && value.numbers[0] > entry.rev) return nullptr;
    if (rule != nullptr) {
      image->access_.rule = &image->rule_of(*rule);
      if (value.is_plain) {
        image->access_.state.bucket.set_full_at(core::bucket::now_ticks(rule->rule(), instant_of(value.numbers[0])));
      } else {
        if (!image->read_state(value)) return unreadable(text);
      }
      TRY(image->read_parts(parts));
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
  if (!is_sound(rule) || rule.period > kPeriodMax) return unreadable(terms);
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
  if (value.is_plain || !image->read_state(value)) return unreadable(state.elements[0].text);
  for (std::size_t i = 1; i < state.elements.size(); ++i) {
    std::string_view text = state.elements[i].text;
    const auto part_numbers = take_numbers(text);
    if (part_numbers.size() != 3) return unreadable(state.elements[i].text);
    engine::OpenPart part;
    part.units = amount_of(part_numbers[0]);
    part.made_at = instant_of(part_numbers[1]);
    part.expires_at = instant_of(part_numbers[2]);
    part.serial = i;
    image->parts_.insert(part, image->access_.rule->rule(), image->access_.state);
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
    text.parts.push_back((std::to_string(part.charge) + ":").append(part.id));
    text.parts.push_back(std::to_string(part.units) + ":" + std::to_string(us_of(part.made_at)) + ":" +
                         std::to_string(us_of(part.expires_at)) + ":" + std::to_string(part.serial));
  }
  if (!parts_.empty()) text.value += "+" + std::to_string(us_of(parts_.first().expires_at));
  const Duration reset = access_.reset_after();
  const bool is_held_only = rule.kind == Kind::kStock && !parts_.empty() && access_.held() == access_.used();
  if (own_amount_ || (reset.is_never() && !is_held_only)) return text;
  text.until_us = us_of(std::max(is_held_only ? access_.moment.now : access_.moment.now + reset, last)) + 1;
  return text;
}

}  // namespace mete::store::redis
