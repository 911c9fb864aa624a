#include "store/postgres/records.h"

#include <charconv>

#include "base/check.h"
#include "store/remote_clock.h"

namespace mete::store::postgres {

namespace {

struct LimitColumn {
  enum : std::uint8_t {
    kName,
    kKind,
    kAmount,
    kPeriod,
    kUnit,
    kZone,
    kAnchor,
    kBurst,
    kDurable,
    kOnFail,
    kShadow,
    kScope
  };
};

// One of the values up to `last`, by its name.
template <class Enum>
Result<Enum> named(std::string_view name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return tl::make_unexpected(
      Error{ErrorCode::kUnavailable,
            "PostgreSQL: mete.limits has a limit with '" + std::string(name) + "', which this version does not know"});
}

template <class Enum>
void add_name(Parameters& parameters, const std::optional<Enum>& value) {
  if (value) {
    parameters.add(to_string(*value));
  } else {
    parameters.add_null();
  }
}

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

Result<Parameters> definition_of(const Limit& limit, std::uint64_t floor_us) {
  Parameters parameters;
  parameters.add(to_text(limit.name())).add(to_string(limit.kind())).add(limit.amount());
  if (limit.period()) {
    const auto micros = micros_of("period", *limit.period());
    if (!micros) return tl::make_unexpected(micros.error());
    parameters.add(*micros);
  } else {
    parameters.add_null();
  }
  add_name(parameters, limit.unit());
  if (limit.zone()) {
    parameters.add(*limit.zone());
  } else {
    parameters.add_null();
  }
  parameters.add(limit.anchor() ? std::optional<std::int64_t>(*limit.anchor()) : std::nullopt).add(limit.burst());
  add_name(parameters, limit.durable());
  parameters.add(to_string(limit.on_fail())).add(limit.is_shadow()).add(to_string(limit.scope()));
  parameters.add(static_cast<std::int64_t>(floor_us));
  return parameters;
}

Result<Limit> limit_of(const Rows& rows, std::size_t row) {
  const auto kind = named(rows.text(row, LimitColumn::kKind), Kind::kStock);
  if (!kind) return tl::make_unexpected(kind.error());
  Limit limit(*kind, from_text(rows.text(row, LimitColumn::kName)));
  limit.amount(rows.integer(row, LimitColumn::kAmount));
  if (rows.integer(row, LimitColumn::kPeriod) > 0)
    limit.per(Duration::from_ns(rows.integer(row, LimitColumn::kPeriod) * kNsPerMicro));
  if (!rows.is_null(row, LimitColumn::kUnit)) {
    const auto unit = named(rows.text(row, LimitColumn::kUnit), Unit::kYear);
    if (!unit) return tl::make_unexpected(unit.error());
    limit.per(*unit);
  }
  if (!rows.is_null(row, LimitColumn::kZone)) limit.zone(std::string(rows.text(row, LimitColumn::kZone)));
  if (!rows.is_null(row, LimitColumn::kAnchor)) limit.anchor(static_cast<int>(rows.integer(row, LimitColumn::kAnchor)));
  if (!rows.is_null(row, LimitColumn::kBurst)) limit.burst(rows.integer(row, LimitColumn::kBurst));
  if (!rows.is_null(row, LimitColumn::kDurable)) {
    const auto durable = named(rows.text(row, LimitColumn::kDurable), Durable::kNever);
    if (!durable) return tl::make_unexpected(durable.error());
    limit.durable(*durable);
  }
  const auto on_fail = named(rows.text(row, LimitColumn::kOnFail), OnFail::kOpen);
  const auto scope = named(rows.text(row, LimitColumn::kScope), Scope::kEscrow);
  if (!on_fail || !scope) return tl::make_unexpected(on_fail ? scope.error() : on_fail.error());
  return limit.on_fail(*on_fail).shadow(rows.boolean(row, LimitColumn::kShadow)).scope(*scope);
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
      holds.push_back({.id = std::move(id),
                       .state = state_of(rows.text(i, HoldColumn::kState)),
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
