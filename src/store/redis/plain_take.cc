#include "store/redis/plain_take.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>

#include "base/check.h"
#include "base/decimal.h"
#include "store/redis/names.h"

namespace mete::store::redis {

namespace {

constexpr std::uint64_t kTenths = 10;
// What the time ends in: see charge.lua.
constexpr std::uint64_t kLastTenths = 9;

}  // namespace

void PlainCall::begin(std::uint64_t floor_us) {
  CHECK(floor_us >= kPlainEpochUs);
  count_ = 0;
  texts_.clear();
  numbers_.clear();
  add_number((floor_us - kPlainEpochUs) * kTenths + kLastTenths);
}

void PlainCall::add(const Meter& meter) {
  CHECK(count_ < kChargesMax);
  const BucketTimes& times = meter.limit.times().value();
  append_meter_key(texts_, meter.limit.definition().name(), meter.key);
  name_ends_[count_] = texts_.size();
  std::array<char, base::kDecimalBytesMax> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written here
  texts_.append(digits.data(),
                base::write_decimal(digits.data(), static_cast<std::int64_t>(meter.charge_us * kTenths)));
  charge_ends_[count_] = texts_.size();
  add_number(meter.charge_us * kTenths);
  add_number(times.full_us * kTenths + 2 * static_cast<std::uint64_t>(meter.limit.entry().slot));
  add_number(times.cell_us * kTenths);
  ++count_;
}

// Eight bytes, the lowest first, on any machine.
void PlainCall::add_number(std::uint64_t number) {
  auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(number));
  for (int byte = 0; byte < 8; ++byte, bits >>= 8) numbers_ += static_cast<char>(bits & 0xff);
}

void PlainCall::write(Batch& batch) const {
  CHECK(count_ > 0);
  std::array<std::string_view, 2 * kChargesMax + 1> words;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    words[i] = std::string_view(texts_).substr(begin, name_ends_[i] - begin);
    words[count_ + i] = std::string_view(texts_).substr(name_ends_[i], charge_ends_[i] - name_ends_[i]);
    begin = charge_ends_[i];
  }
  words[2 * count_] = numbers_;
  batch.add_script(words[0], Script::kCharge, count_, std::span(words).first(2 * count_ + 1));
}

PlainAnswer::PlainAnswer(std::string_view text) : rest_(text) {
  is_denied_ = rest_.starts_with('D');
  if (is_denied_) rest_.remove_prefix(1);
  const std::uint64_t seconds = number();
  now_us_ = seconds * 1'000'000 + number();
}

std::uint64_t PlainAnswer::next_full_us() {
  if (rest_.starts_with('-')) {
    rest_.remove_prefix(std::min<std::size_t>(2, rest_.size()));
    return 0;
  }
  return number() / kTenths + kPlainEpochUs;
}

std::uint64_t PlainAnswer::number() {
  std::uint64_t value = 0;
  const char* end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value).ptr;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  if (!rest_.empty()) rest_.remove_prefix(1);
  return value;
}

}  // namespace mete::store::redis
