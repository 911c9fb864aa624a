#include "store/postgres/records.h"

#include <charconv>

#include "base/check.h"
#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "core/answer_fields.h"
#include "core/limit_fields.h"
#include "store/remote_clock.h"

namespace mete::store::postgres {

namespace {

struct OutcomeColumn {
  enum : std::uint8_t { kAllowed, kAmount, kRemaining, kCapacity, kRetry, kReset, kViolated, kNow, kUsages };
};
struct HoldColumn {
  enum : std::uint8_t { kId, kState, kExpiresIn, kAge, kTag, kLimit, kKey, kAmount, kNow };
};
constexpr std::size_t kNumbersPerUsage = 5;

// -1 is never, and so is what is too long to tell.
Duration length_of(std::int64_t us) {
  const bool is_never = us < 0 || us > Duration::never().ns() / kNsPerMicro;
  return is_never ? Duration::never() : Duration::from_ns(us * kNsPerMicro);
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

Result<Parameters> definition_of(const Limit& limit, std::uint64_t floor_us) {
  if (limit.period()) {
    TRY(micros_of("period", *limit.period()));
  }
  Parameters parameters;
  parameters.add(to_text(limit.name()));
  for (const core::LimitField& field : core::kLimitFields) {
    const auto value = field.get(limit);
    value ? parameters.add(field.to_text(*value)) : parameters.add_null();
  }
  return parameters.add(static_cast<std::int64_t>(floor_us));
}

Result<Limit> limit_of(const Rows& rows, std::size_t row) {
  LimitFields fields{.name = from_text(rows.text(row, 0))};
  std::size_t column = 0;
  for (const core::LimitField& field : core::kLimitFields) {
    if (rows.is_null(row, ++column)) continue;
    const std::string_view text = rows.text(row, column);
    const auto value = field.parse(text);
    if (!value) {
      return base::unavailable("PostgreSQL: mete.limits has a limit with '" + std::string(text) +
                               "', which this version does not know");
    }
    field.set(fields, *value);
  }
  return Limit(std::move(fields));
}

bool is_none(const Rows& rows, std::size_t row) { return rows.is_null(row, OutcomeColumn::kAllowed); }

core::Verdict verdict_of(const Rows& rows, std::size_t row) {
  return {.is_allowed = rows.boolean(row, OutcomeColumn::kAllowed),
          .violated = static_cast<std::uint16_t>(rows.integer(row, OutcomeColumn::kViolated)),
          .taken = rows.integer(row, OutcomeColumn::kAmount),
          .remaining = rows.integer(row, OutcomeColumn::kRemaining),
          .limit = rows.integer(row, OutcomeColumn::kCapacity),
          .retry_after = length_of(rows.integer(row, OutcomeColumn::kRetry)),
          .reset_after = length_of(rows.integer(row, OutcomeColumn::kReset))};
}

std::uint64_t now_us_of(const Rows& rows, std::size_t row) {
  return static_cast<std::uint64_t>(rows.integer(row, OutcomeColumn::kNow));
}

void read_usages(const Rows& rows, std::size_t row, std::span<Usage> usages) {
  if (usages.empty() || rows.is_null(row, OutcomeColumn::kUsages)) return;
  const std::vector<std::int64_t> numbers = numbers_of(rows.text(row, OutcomeColumn::kUsages));
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

std::uint64_t holds_now_us(const Rows& rows) { return static_cast<std::uint64_t>(rows.integer(0, HoldColumn::kNow)); }

std::vector<HoldInfo> holds_of(const Rows& rows) {
  std::vector<HoldInfo> holds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.is_null(i, HoldColumn::kId)) continue;  // there is none
    std::string id = from_text(rows.text(i, HoldColumn::kId));
    if (holds.empty() || holds.back().id != id) {
      holds.push_back(
          {.id = std::move(id),
           .state =
               base::named<HoldState>(kHoldStateNames, rows.text(i, HoldColumn::kState)).value_or(HoldState::kExpired),
           .expires_in = length_of(rows.integer(i, HoldColumn::kExpiresIn)),
           .age = length_of(rows.integer(i, HoldColumn::kAge)),
           .tag = from_text(rows.text(i, HoldColumn::kTag)),
           .charges = {}});
    }
    holds.back().charges.push_back({from_text(rows.text(i, HoldColumn::kLimit)),
                                    from_text(rows.text(i, HoldColumn::kKey)), rows.integer(i, HoldColumn::kAmount)});
  }
  return holds;
}

}  // namespace mete::store::postgres
