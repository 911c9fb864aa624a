#include "server/limits/limit_fields.h"

#include <array>
#include <limits>
#include <optional>

#include "base/errors.h"
#include "base/time_text.h"
#include "core/validate.h"
#include "wire/json.h"
#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::array kKinds = {Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kCalendar, Kind::kStock};
constexpr std::array kDurables = {Durable::kAlways, Durable::kEverySecond, Durable::kNever};
constexpr std::array kOnFails = {OnFail::kClosed, OnFail::kOpen};
constexpr std::array kScopes = {Scope::kNode, Scope::kShared, Scope::kEscrow};
constexpr std::array kUnits = {Unit::kHour, Unit::kDay, Unit::kWeek, Unit::kMonth, Unit::kYear};

template <class Names, class Item = typename Names::value_type>
std::optional<Item> find_named(const Names& items, std::string_view name) {
  for (const Item item : items) {
    if (to_string(item) == name) return item;
  }
  return std::nullopt;
}

Result<std::int64_t> integer(const Field& field) {
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) return *number;
  return base::invalid(std::string(field.name) + " must be an integer");
}

Result<std::string_view> text(const Field& field) {
  if (const auto* words = std::get_if<std::string_view>(&field.value)) return *words;
  return base::invalid(std::string(field.name) + " must be a string");
}

Result<void> set_amount(Limit& limit, const Field& field) {
  return integer(field).map([&](std::int64_t amount) {
    limit.amount(amount);
    return Done{};
  });
}

Result<void> set_burst(Limit& limit, const Field& field) {
  return integer(field).map([&](std::int64_t burst) {
    limit.burst(burst);
    return Done{};
  });
}

Result<void> set_calendar_period(Limit& limit, const Field& field) {
  const auto name = text(field);
  const auto unit = name ? find_named(kUnits, *name) : std::nullopt;
  if (!unit) return base::invalid(R"(period of a calendar must be "hour", "day", "week", "month" or "year")");
  limit.per(*unit);
  return {};
}

Result<void> set_period(Limit& limit, const Field& field) {
  if (limit.kind() == Kind::kCalendar) return set_calendar_period(limit, field);
  std::string seconds;
  std::string_view words;
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
    words = seconds = std::to_string(*number);
  } else if (const auto* duration = std::get_if<std::string_view>(&field.value)) {
    words = *duration;
  } else {
    return base::invalid("period must be a duration, such as \"1m\", or a number of seconds");
  }
  const auto period = wire::parse_duration(words);
  if (!period) return base::invalid("period: " + period.error().message);
  limit.per(*period);
  return {};
}

Result<void> set_zone(Limit& limit, const Field& field) {
  return text(field).map([&](std::string_view zone) {
    limit.zone(std::string(zone));
    return Done{};
  });
}

Result<void> set_anchor(Limit& limit, const Field& field) {
  const auto anchor = integer(field);
  if (!anchor) return tl::make_unexpected(anchor.error());
  if (*anchor < 1 || *anchor > std::numeric_limits<int>::max()) {
    return base::invalid("anchor must be a weekday 1 to 7, a day 1 to 31 or, for a year, month * 100 + day");
  }
  limit.anchor(static_cast<int>(*anchor));
  return {};
}

Result<void> set_shadow(Limit& limit, const Field& field) {
  const auto* shadow = std::get_if<bool>(&field.value);
  if (shadow == nullptr) return base::invalid("shadow must be true or false");
  limit.shadow(*shadow);
  return {};
}

// A field that is one of a few words.
template <class Names, class Item = typename Names::value_type>
Result<void> set_named(Limit& limit, const Field& field, const Names& items, Limit& (Limit::*set)(Item),
                       std::string_view allowed) {
  const auto name = text(field);
  const auto item = name ? find_named(items, *name) : std::nullopt;
  if (!item) return base::invalid(std::string(field.name) + " must be " + std::string(allowed));
  (limit.*set)(*item);
  return {};
}

Result<void> set_durable(Limit& limit, const Field& field) {
  return set_named(limit, field, kDurables, &Limit::durable, R"("always", "everysec" or "never")");
}

Result<void> set_on_fail(Limit& limit, const Field& field) {
  return set_named(limit, field, kOnFails, &Limit::on_fail, R"("closed" or "open")");
}

Result<void> set_scope(Limit& limit, const Field& field) {
  return set_named(limit, field, kScopes, &Limit::scope, R"("node", "shared" or "escrow")");
}

struct FieldSetter {
  std::string_view name;
  Result<void> (*set)(Limit&, const Field&);
};
// `kind` is not among them: it is read first, for the others depend on it.
constexpr FieldSetter kSetters[] = {
    {"amount", set_amount},   {"period", set_period},   {"burst", set_burst},
    {"zone", set_zone},       {"anchor", set_anchor},   {"shadow", set_shadow},
    {"durable", set_durable}, {"on_fail", set_on_fail}, {"scope", set_scope},
};

Result<Kind> find_kind(std::span<const Field> fields) {
  for (const Field& field : fields) {
    if (field.name != "kind") continue;
    const auto name = text(field);
    if (const auto kind = name ? find_named(kKinds, *name) : std::nullopt) return *kind;
    return base::invalid(R"(kind must be "bucket", "window", "sliding", "calendar" or "stock")");
  }
  return base::invalid(R"(kind is missing: "bucket", "window", "sliding", "calendar" or "stock")");
}

Result<void> set_field(Limit& limit, const Field& field) {
  if (field.name == "kind") return {};
  for (const FieldSetter& setter : kSetters) {
    if (setter.name == field.name) return setter.set(limit, field);
  }
  return base::invalid(
      wire::quote(field.name) +
      " is no field of a limit; there are kind, amount, period, burst, zone, anchor, shadow, durable, on_fail and "
      "scope");
}

}  // namespace

Result<Limit> make_limit(std::string name, std::span<const Field> fields) {
  const auto kind = find_kind(fields);
  if (!kind) return tl::make_unexpected(kind.error());
  Limit limit(*kind, std::move(name));
  for (const Field& field : fields) {
    if (auto ok = set_field(limit, field); !ok) return tl::make_unexpected(std::move(ok.error()));
  }
  if (auto ok = core::validate_limit(limit); !ok) return tl::make_unexpected(std::move(ok.error()));
  return limit;
}

std::vector<LimitField> describe_limit(const Limit& limit) {
  std::vector<LimitField> fields = {{"kind", std::string(to_string(limit.kind()))}, {"amount", limit.amount()}};
  if (limit.period()) fields.push_back({"period", base::duration_text(*limit.period())});
  if (limit.unit()) fields.push_back({"period", std::string(to_string(*limit.unit()))});
  if (limit.burst()) fields.push_back({"burst", *limit.burst()});
  if (limit.zone()) fields.push_back({"zone", *limit.zone()});
  if (limit.anchor()) fields.push_back({"anchor", std::int64_t{*limit.anchor()}});
  if (limit.is_shadow()) fields.push_back({"shadow", true});
  if (limit.durable()) fields.push_back({"durable", std::string(to_string(*limit.durable()))});
  if (limit.on_fail() != OnFail::kClosed) fields.push_back({"on_fail", std::string(to_string(limit.on_fail()))});
  if (limit.scope() != Scope::kNode) fields.push_back({"scope", std::string(to_string(limit.scope()))});
  return fields;
}

void write_fields(const std::vector<LimitField>& fields, wire::JsonWriter& writer) {
  for (const LimitField& field : fields) {
    std::visit([&](const auto& value) { writer.member(field.name, value); }, field.value);
  }
}

}  // namespace mete::server
