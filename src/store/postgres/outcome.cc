#include "store/postgres/outcome.h"

#include <charconv>

#include "base/check.h"
#include "store/micros.h"
#include "store/postgres/names.h"

namespace mete::store::postgres {

namespace {

enum OutcomeColumn : std::uint8_t {
  kAllowed,
  kAmount,
  kRemaining,
  kCapacity,
  kRetry,
  kReset,
  kViolated,
  kNow,
  kUsages
};
enum HoldColumn : std::uint8_t { kId, kState, kExpiresIn, kAge, kTag, kLimit, kKey, kHeldAmount, kHoldNow };
constexpr std::size_t kNumbersPerUsage = 5;

// -1 is never, and so is what is too long to tell.
Duration length_of(std::int64_t us) {
  const bool is_never = us < 0 || us > Duration::never().ns() / kNsPerMicro;
  return is_never ? Duration::never() : Duration::from_ns(us * kNsPerMicro);
}

HoldState state_of(std::string_view name) {
  for (const HoldState state : {HoldState::kHeld, HoldState::kCommitted, HoldState::kCancelled}) {
    if (name == to_string(state)) return state;
  }
  return HoldState::kExpired;
}

// {1,2,3}
std::vector<std::int64_t> numbers_of(std::string_view array) {
  std::vector<std::int64_t> numbers;
  const char* next = array.data() + 1;
  const char* const end = array.data() + array.size();
  while (next < end) {
    std::int64_t number = 0;
    const auto read = std::from_chars(next, end, number);
    if (read.ec != std::errc()) break;  // "{}"
    numbers.push_back(number);
    next = read.ptr + 1;
  }
  return numbers;
}

}  // namespace

bool is_none(const Rows& rows, std::size_t row) { return rows.is_null(row, kAllowed); }

core::Verdict verdict_of(const Rows& rows, std::size_t row) {
  return {.is_allowed = rows.boolean(row, kAllowed),
          .violated = static_cast<std::uint16_t>(rows.integer(row, kViolated)),
          .taken = rows.integer(row, kAmount),
          .remaining = rows.integer(row, kRemaining),
          .limit = rows.integer(row, kCapacity),
          .retry_after = length_of(rows.integer(row, kRetry)),
          .reset_after = length_of(rows.integer(row, kReset))};
}

std::uint64_t now_us_of(const Rows& rows, std::size_t row) {
  return static_cast<std::uint64_t>(rows.integer(row, kNow));
}

void read_usages(const Rows& rows, std::size_t row, std::span<Usage> usages) {
  if (usages.empty() || rows.is_null(row, kUsages)) return;
  const std::vector<std::int64_t> numbers = numbers_of(rows.text(row, kUsages));
  CHECK(numbers.size() == usages.size() * kNumbersPerUsage);
  for (std::size_t i = 0; i < usages.size(); ++i) {
    const std::int64_t* const told = &numbers[i * kNumbersPerUsage];
    usages[i] = {
        .used = told[0], .held = told[1], .remaining = told[2], .limit = told[3], .reset_after = length_of(told[4])};
  }
}

Usage usage_of(const Rows& rows, std::size_t row, std::size_t first_column) {
  return {.used = rows.integer(row, first_column),
          .held = rows.integer(row, first_column + 1),
          .remaining = rows.integer(row, first_column + 2),
          .limit = rows.integer(row, first_column + 3),
          .reset_after = length_of(rows.integer(row, first_column + 4))};
}

std::uint64_t holds_now_us(const Rows& rows) { return static_cast<std::uint64_t>(rows.integer(0, kHoldNow)); }

std::vector<HoldInfo> holds_of(const Rows& rows) {
  std::vector<HoldInfo> holds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.is_null(i, kId)) continue;  // there is none
    std::string id = from_text(rows.text(i, kId));
    if (holds.empty() || holds.back().id != id) {
      holds.push_back({.id = std::move(id),
                       .state = state_of(rows.text(i, kState)),
                       .expires_in = length_of(rows.integer(i, kExpiresIn)),
                       .age = length_of(rows.integer(i, kAge)),
                       .tag = from_text(rows.text(i, kTag)),
                       .charges = {}});
    }
    holds.back().charges.push_back(
        {from_text(rows.text(i, kLimit)), from_text(rows.text(i, kKey)), rows.integer(i, kHeldAmount)});
  }
  return holds;
}

}  // namespace mete::store::postgres
