#include "store/postgres/limit_rows.h"

#include "store/micros.h"
#include "store/postgres/names.h"

namespace mete::store::postgres {

namespace {

enum Column : std::uint8_t {
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
  const auto kind = named(rows.text(row, kKind), Kind::kStock);
  if (!kind) return tl::make_unexpected(kind.error());
  Limit limit(*kind, from_text(rows.text(row, kName)));
  limit.amount(rows.integer(row, kAmount));
  if (rows.integer(row, kPeriod) > 0) limit.per(Duration::from_ns(rows.integer(row, kPeriod) * kNsPerMicro));
  if (!rows.is_null(row, kUnit)) {
    const auto unit = named(rows.text(row, kUnit), Unit::kYear);
    if (!unit) return tl::make_unexpected(unit.error());
    limit.per(*unit);
  }
  if (!rows.is_null(row, kZone)) limit.zone(std::string(rows.text(row, kZone)));
  if (!rows.is_null(row, kAnchor)) limit.anchor(static_cast<int>(rows.integer(row, kAnchor)));
  if (!rows.is_null(row, kBurst)) limit.burst(rows.integer(row, kBurst));
  if (!rows.is_null(row, kDurable)) {
    const auto durable = named(rows.text(row, kDurable), Durable::kNever);
    if (!durable) return tl::make_unexpected(durable.error());
    limit.durable(*durable);
  }
  const auto on_fail = named(rows.text(row, kOnFail), OnFail::kOpen);
  const auto scope = named(rows.text(row, kScope), Scope::kEscrow);
  if (!on_fail || !scope) return tl::make_unexpected(on_fail ? scope.error() : on_fail.error());
  return limit.on_fail(*on_fail).shadow(rows.boolean(row, kShadow)).scope(*scope);
}

}  // namespace mete::store::postgres
