#include "store/postgres/records.h"

#include <charconv>

#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "core/answer_fields.h"
#include "core/limit_fields.h"
#include "core/validate.h"
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
  add_limit(parameters, limit.name());
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
      return base::unavailable("PostgreSQL: mete.limits has for '" + shown(fields.name) + "' the value '" +
                               shown(text) + "', which this version does not know");
    }
    field.set(fields, *value);
  }
  Limit limit(std::move(fields));
  if (const auto valid = core::validate_limit(limit); !valid) {
    return base::unavailable("PostgreSQL: mete.limits has a row '" + shown(limit.name()) +
                             "' that is no limit: " + shown(valid.error().message));
  }
  return limit;
}

bool is_none(const Rows& rows, std::size_t row) { return rows.is_null(row, OutcomeColumn::kAllowed); }

Result<core::Verdict> verdict_of(const Rows& rows, std::size_t row) {
  constexpr std::string_view kWhose = "the answer";
  return core::Verdict{.is_allowed = TRY(rows.boolean(row, OutcomeColumn::kAllowed, kWhose)),
                       .violated = static_cast<std::uint16_t>(TRY(rows.amount(row, OutcomeColumn::kViolated, kWhose))),
                       .taken = TRY(rows.amount(row, OutcomeColumn::kAmount, kWhose)),
                       .remaining = TRY(rows.amount(row, OutcomeColumn::kRemaining, kWhose)),
                       .limit = TRY(rows.amount(row, OutcomeColumn::kCapacity, kWhose)),
                       .retry_after = length_of(TRY(rows.integer(row, OutcomeColumn::kRetry, kWhose))),
                       .reset_after = length_of(TRY(rows.integer(row, OutcomeColumn::kReset, kWhose)))};
}

Result<std::uint64_t> now_us_of(const Rows& rows, std::size_t row) {
  return rows.micros(row, OutcomeColumn::kNow, "the answer");
}

Result<void> read_usages(const Rows& rows, std::size_t row, std::span<Usage> usages) {
  if (usages.empty() || rows.is_null(row, OutcomeColumn::kUsages)) return {};
  const std::vector<std::int64_t> numbers = numbers_of(rows.text(row, OutcomeColumn::kUsages));
  if (numbers.size() != usages.size() * kNumbersPerUsage) {
    return base::unavailable("PostgreSQL: the answer has usages that are none: " +
                             shown(rows.text(row, OutcomeColumn::kUsages)));
  }
  for (std::size_t i = 0; i < usages.size(); ++i) {
    const std::int64_t* const told = &numbers[i * kNumbersPerUsage];
    usages[i] = {
        .used = told[0], .held = told[1], .remaining = told[2], .limit = told[3], .reset_after = length_of(told[4])};
  }
  return {};
}

Result<Usage> usage_of(const Rows& rows, std::size_t row, std::size_t first_column, std::string_view whose) {
  return Usage{.used = TRY(rows.amount(row, first_column, whose)),
               .held = TRY(rows.amount(row, first_column + 1, whose)),
               .remaining = TRY(rows.amount(row, first_column + 2, whose)),
               .limit = TRY(rows.amount(row, first_column + 3, whose)),
               .reset_after = length_of(TRY(rows.integer(row, first_column + 4, whose)))};
}

Result<std::uint64_t> holds_now_us(const Rows& rows) { return rows.micros(0, HoldColumn::kNow, "the list of holds"); }

Result<std::vector<HoldInfo>> holds_of(const Rows& rows) {
  std::vector<HoldInfo> holds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.is_null(i, HoldColumn::kId)) continue;  // there is none
    std::string id = from_text(rows.text(i, HoldColumn::kId));
    const std::string whose = "hold '" + id + "'";
    for (const std::size_t column : {HoldColumn::kLimit, HoldColumn::kKey}) {
      if (rows.is_null(i, column)) return rows.is_none(i, column, whose);
    }
    const auto state = base::named<HoldState>(kHoldStateNames, rows.text(i, HoldColumn::kState));
    if (!state) {
      return base::unavailable("PostgreSQL: " + whose + " has the state '" + shown(rows.text(i, HoldColumn::kState)) +
                               "', which there is not");
    }
    if (holds.empty() || holds.back().id != id) {
      holds.push_back({.id = std::move(id),
                       .state = *state,
                       .expires_in = length_of(TRY(rows.amount(i, HoldColumn::kExpiresIn, whose))),
                       .age = length_of(TRY(rows.amount(i, HoldColumn::kAge, whose))),
                       .tag = from_text(rows.text(i, HoldColumn::kTag)),
                       .charges = {}});
    }
    holds.back().charges.push_back({from_text(rows.text(i, HoldColumn::kLimit)),
                                    from_text(rows.text(i, HoldColumn::kKey)),
                                    TRY(rows.amount(i, HoldColumn::kAmount, whose))});
  }
  return holds;
}

}  // namespace mete::store::postgres
