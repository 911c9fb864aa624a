#include "store/redis/key_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "store/redis/replies.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// VALUE or VALUE@EXPIRES
bool read_counter(std::string_view text, KeyRecord& record) {
  record.type = core::KeyType::kCounter;
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    std::uint64_t expires_us = 0;
    if (!read_number(text.substr(at + 1), expires_us)) return false;
    record.expires_at = instant_of_micros(expires_us);
  }
  return read_number(text.substr(0, at), record.value);
}

// Numbers with a ':' in front of each, as many as there are.
bool read_fields(std::string_view text, std::span<std::int64_t> numbers) {
  for (std::int64_t& number : numbers) {
    if (text.empty() || text.front() != ':') return false;
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find(':'), text.size());
    if (!read_number(text.substr(0, end), number)) return false;
    text.remove_prefix(end);
  }
  return text.empty();
}

bool is_amount(std::int64_t number) { return number >= 1 && number <= kAmountMax; }

std::optional<Duration> period_of(std::int64_t micros) {
  if (micros < 1 || micros > kPeriodMax.ns() / kNsPerMicro) return std::nullopt;
  return Duration::from_ns(micros * kNsPerMicro);
}

std::optional<Instant> checked_instant(std::int64_t micros) {
  if (micros < 0) return std::nullopt;
  return instant_of_micros(static_cast<std::uint64_t>(micros));
}

// :AMOUNT:WINDOW:START:USED
bool read_quota(std::string_view text, KeyRecord& record) {
  std::array<std::int64_t, 4> fields{};
  if (!read_fields(text, fields)) return false;
  const auto [amount, window_us, start_us, used] = fields;
  const auto window = period_of(window_us);
  const auto start = checked_instant(start_us);
  if (!is_amount(amount) || !window || !start || used < 0 || used > kAmountMax) return false;
  record.type = core::KeyType::kQuota;
  record.rule = {.kind = Kind::kWindow, .amount = amount, .capacity = amount, .period = *window};
  record.state.window = {*start, used};
  record.written_at = *start;
  return true;
}

// :CAPACITY:COUNT:PERIOD:AT:UNITS:FRACTION
bool read_throttle(std::string_view text, KeyRecord& record) {
  std::array<std::int64_t, 6> fields{};
  if (!read_fields(text, fields)) return false;
  const auto [capacity, count, period_us, at_us, units, fraction] = fields;
  const auto period = period_of(period_us);
  const auto at = checked_instant(at_us);
  // Whole units may be one above what fits, by rounding up when the numbers change; and -1 just after it became full.
  const bool is_state = units >= -1 && units <= kAmountMax + 1 && fraction >= 0 && fraction < period_us;
  if (!is_amount(capacity) || !is_amount(count) || !period || !at || !is_state) return false;
  record.type = core::KeyType::kThrottle;
  record.rule = {.kind = Kind::kBucket, .amount = count, .capacity = capacity, .period = *period};
  record.written_at = *at;
  // A tick of 1/count microsecond is a thousand of those that a bucket counts.
  const core::bucket::Uint128 missing =
      core::bucket::unit_ticks(record.rule, units + 1) + static_cast<std::uint64_t>(fraction * kNsPerMicro);
  record.state.bucket.set_full_at(core::bucket::now_ticks(record.rule, *at) + missing - record.rule.period_ns());
  return true;
}

}  // namespace

core::Moment KeyRecord::settle(Instant now) {
  const Instant at = std::max(now, written_at);
  if (type == core::KeyType::kThrottle) return {at, {}};
  const core::Moment moment{at, core::fixed_window(rule.period, at)};
  core::settle(rule, state, moment);
  return moment;
}

Result<KeyRecord> read_key_record(std::string_view text) {
  KeyRecord record;
  const bool is_read = text.starts_with('q')   ? read_quota(text.substr(1), record)
                       : text.starts_with('t') ? read_throttle(text.substr(1), record)
                                               : read_counter(text, record);
  if (is_read) return record;
  return unexpected_reply("'" + std::string(text) + "' as the text of a key");
}

}  // namespace mete::store::redis
