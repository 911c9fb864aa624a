#include "store/redis/plain_take.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/check.h"
#include "base/decimal.h"
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

}  // namespace

void PlainCall::begin(std::uint64_t floor_us) {
  CHECK(floor_us >= kPlainEpochUs);
  texts_.clear();
  numbers_.clear();
  ends_.clear();
  append_number(numbers_, tenths(floor_us - kPlainEpochUs) + kLastTenths);
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

void CountCall::begin(std::uint64_t floor_us, std::uint64_t now_us) {
  now_us_ = now_us;
  numbers_.clear();
  names_.clear();
  heads_.clear();
  append_number(numbers_, static_cast<std::int64_t>(floor_us));
}

void CountCall::add(const KnownLimit& limit, const Charge& charge) {
  CHECK(names_.size() < kCallMetersMax);
  KnownLimit::Counted counted = limit.counted(now_us_);
  append_meter_key(names_.emplace_back(), charge.limit, charge.key);
  append_number(numbers_, charge.cost);
  append_number(numbers_, limit.rule().rule().capacity);
  append_number(numbers_, static_cast<std::int64_t>(counted.starts_us));
  append_number(numbers_, static_cast<std::int64_t>(counted.ends_us));
  heads_.push_back(std::move(counted.head));
}

void CountCall::write(Batch& batch) {
  CHECK(!names_.empty());
  std::vector<std::string_view> words(names_.begin(), names_.end());
  words.push_back(numbers_);
  words.insert(words.end(), heads_.begin(), heads_.end());
  batch.add_script(names_[0], script(StoreScript::kCountEach), names_.size(), words);
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
