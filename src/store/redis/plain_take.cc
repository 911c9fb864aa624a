#include "store/redis/plain_take.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/check.h"
#include "base/decimal.h"
#include "base/hash.h"
#include "base/random.h"
#include "core/sliding.h"
#include "store/redis/names.h"

namespace mete::store::redis {

namespace {

constexpr std::int64_t kLastTenths = 9;     // what times end in (lua/plain_begin.lua)
constexpr std::size_t kSecondsDigits = 10;  // from 2001 to 2286

std::int64_t tenths(std::uint64_t us) { return static_cast<std::int64_t>(us * kTenths); }

// A double: eight bytes, the lowest first, on any machine.
void append_number(std::string& output, std::int64_t number) {
  std::array<char, 8> bytes{};
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(number));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bits >> 8 * i & 0xff);
  output.append(bytes.data(), bytes.size());
}

std::string packed_signed(std::int64_t number) {
  std::string text;
  append_number(text, number);
  return text;
}

std::string packed(std::initializer_list<std::uint64_t> numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) append_number(text, static_cast<std::int64_t>(number));
  return text;
}

std::uint64_t upper_half(std::uint64_t number) { return number >> 32U << 32U; }

std::uint32_t milliseconds_of(Instant now) { return static_cast<std::uint32_t>(now.ns() / 1'000'000); }

std::string_view letter_of(Kind kind) { return kKindLetters.substr(static_cast<std::size_t>(kind), 1); }

}  // namespace

void PlainCall::begin(const TimeBounds& bounds) {
  CHECK(bounds.earliest_us >= kPlainEpochUs);
  texts_.clear();
  numbers_.clear();
  ends_.clear();
  append_number(numbers_, tenths(bounds.earliest_us - kPlainEpochUs) + kLastTenths);
  append_number(numbers_, tenths(bounds.latest_us - kPlainEpochUs) + kLastTenths);
}

void PlainCall::add(const Meter& meter) {
  CHECK(ends_.size() < kCallMetersMax);
  const BucketTimes& times = meter.limit.times().value();
  const std::int64_t charge = tenths(meter.charge_us);
  Ends& ends = ends_.emplace_back();
  append_meter_key(texts_, meter.limit.definition().name(), meter.key);
  ends.name = texts_.size();
  std::array<char, base::kDecimalBytesMax> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written here
  texts_.append(digits.data(), base::write_decimal(digits.data(), charge));
  ends.charge = texts_.size();
  append_number(numbers_, charge);
  append_number(numbers_, tenths(times.full_us) - charge + meter.limit.entry().slot - kLastTenths);
  append_number(numbers_, tenths(times.span_us));
}

void PlainCall::write(StoreScript which, Batch& batch) {
  CHECK(!ends_.empty());
  const std::string_view texts = texts_;
  const std::size_t count = ends_.size();
  words_.assign(2 * count + 1, numbers_);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    words_[i] = texts.substr(begin, ends_[i].name - begin);
    words_[count + i] = texts.substr(ends_[i].name, ends_[i].charge - ends_[i].name);
    begin = ends_[i].charge;
  }
  batch.add_script(words_[0], script(which), count, words_);
}

LongMeters::LongMeters() : seed_(base::random_number()) {}

std::uint64_t LongMeters::hash_of(std::string_view limit, std::string_view key) const {
  return base::hash_bytes(key, base::hash_bytes(limit, seed_));
}

void LongMeters::note(std::string_view limit, std::string_view key, Instant now) {
  const std::uint64_t hash = hash_of(limit, key);
  places_[hash % kPlaces].store(upper_half(hash) | milliseconds_of(now), std::memory_order_relaxed);
}

bool LongMeters::has(std::string_view limit, std::string_view key, Instant now) const {
  const std::uint64_t hash = hash_of(limit, key);
  const std::uint64_t place = places_[hash % kPlaces].load(std::memory_order_relaxed);
  const std::uint32_t age_ms = milliseconds_of(now) - static_cast<std::uint32_t>(place);
  return upper_half(place) == upper_half(hash) && age_ms < kKeptFor.ms();
}

void CountCall::begin(const TimeBounds& bounds, std::uint64_t now_us) {
  now_us_ = now_us;
  numbers_.clear();
  names_.clear();
  heads_.clear();
  append_number(numbers_, static_cast<std::int64_t>(bounds.earliest_us));
  append_number(numbers_, static_cast<std::int64_t>(bounds.latest_us));
}

void CountCall::add(const KnownLimit& limit, const Charge& charge) {
  CHECK(names_.size() < kCallMetersMax);
  KnownLimit::Counted counted = limit.counted(now_us_);
  append_meter_key(names_.emplace_back(), charge.limit, charge.key);
  append_number(numbers_, charge.cost);
  append_number(numbers_, limit.rule().rule().capacity);
  const core::Rule& rule = limit.rule().rule();
  if (rule.kind == Kind::kSliding) {
    append_number(numbers_, rule.period.ns() / kNsPerMicro);
    append_number(numbers_, core::sliding::slot_width(rule).ns() / kNsPerMicro);
  } else {
    append_number(numbers_, static_cast<std::int64_t>(counted.starts_us));
    append_number(numbers_, static_cast<std::int64_t>(counted.ends_us));
  }
  heads_.push_back(std::move(counted.head));
}

void CountCall::write(Batch& batch) {
  CHECK(!names_.empty());
  std::vector<std::string_view> words(names_.begin(), names_.end());
  words.push_back(numbers_);
  words.insert(words.end(), heads_.begin(), heads_.end());
  batch.add_script(names_[0], script(which_), names_.size(), words);
}

void ShortHold::write(const Beginning& beginning, Batch& batch) const {
  const core::Rule& rule = limit.rule().rule();
  const KnownLimit::Counted counted = limit.counted(now_us);
  const std::string numbers =
      packed({bounds.earliest_us, bounds.latest_us, beginning.ttl_us, retention_us, base::to_unsigned(beginning.cost),
              base::to_unsigned(rule.capacity), counted.starts_us, counted.ends_us, base::to_unsigned(rule.amount),
              rule.period_ns() / kNsPerMicro}) +
      packed_signed(limit.entry().slot) + packed({beginning.keeps_denial ? 1U : 0U});
  const std::string terms = limit.terms(now_us) + " " + std::to_string(beginning.cost);
  add_call(StoreScript::kHoldOne,
           {numbers, letter_of(rule.kind), counted.head, beginning.fingerprint, std::to_string(epoch), id, tag,
            limit.definition().name(), key, std::to_string(limit.entry().born), terms},
           batch);
}

void ShortHold::write(const End& end, Batch& batch) const {
  const core::Rule& rule = limit.rule().rule();
  const KnownLimit::Counted counted = limit.counted(now_us);
  const std::string numbers = packed({bounds.earliest_us, bounds.latest_us, end.made_us, retention_us}) +
                              packed_signed(end.committed) +
                              packed({base::to_unsigned(rule.capacity), counted.starts_us, counted.ends_us,
                                      base::to_unsigned(rule.amount), rule.period_ns() / kNsPerMicro}) +
                              packed_signed(limit.entry().slot) + packed({limit.times() ? limit.times()->span_us : 0});
  add_call(StoreScript::kCloseOne,
           {numbers, letter_of(rule.kind), counted.head, std::to_string(epoch), id, limit.terms(now_us) + " 0"}, batch);
}

void ShortHold::add_call(StoreScript which, std::initializer_list<std::string_view> arguments, Batch& batch) const {
  std::vector<std::string_view> words = {meter_name, record_name};
  if (!tag_name.empty()) words.push_back(tag_name);
  const std::size_t keys = words.size();
  words.insert(words.end(), arguments);
  batch.add_script(meter_name, script(which), keys, words);
}

PlainAnswer::PlainAnswer(std::string_view text) : rest_(text) {
  is_denied_ = take_sign('D');
  const std::uint64_t seconds = take_number(kSecondsDigits);
  now_us_ = seconds * 1'000'000 + take_number();
}

PlainAnswer::Value PlainAnswer::next() {
  Value value;
  value.is_denied = take_sign('D');
  value.is_plain = !take_sign('?');
  if (value.is_plain && !take_sign('-')) {
    value.number = take_number();
  } else {
    take_sign(' ');
  }
  return value;
}

PlainAnswer::Value PlainAnswer::next_state() {
  Value value;
  value.is_denied = take_sign('D');
  value.is_plain = !take_sign('?');
  const std::size_t end = std::min(rest_.find(' '), rest_.size());
  value.state = rest_.substr(0, end);
  rest_.remove_prefix(end);
  take_sign(' ');
  return value;
}

bool PlainAnswer::take_sign(char sign) {
  if (!rest_.starts_with(sign)) return false;
  rest_.remove_prefix(1);
  return true;
}

// With the space behind it.
std::uint64_t PlainAnswer::take_number(std::size_t digits_max) {
  std::uint64_t value = 0;
  const char* end = std::from_chars(rest_.data(), rest_.data() + std::min(rest_.size(), digits_max), value).ptr;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  take_sign(' ');
  return value;
}

}  // namespace mete::store::redis
