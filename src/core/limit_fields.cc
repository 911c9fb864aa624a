#include "core/limit_fields.h"

#include <charconv>
#include <type_traits>
#include <utility>

#include "base/names.h"

namespace mete::core {

namespace {

constexpr std::int64_t kNsPerMicro = 1000;

template <class Value>
struct Plain : std::type_identity<Value> {};
template <class Value>
struct Plain<std::optional<Value>> : std::type_identity<Value> {};

template <class Value>
std::optional<FieldValue> value_of(const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return FieldValue{.text = value};
  } else if constexpr (std::is_same_v<Value, Duration>) {
    return FieldValue{value.ns()};
  } else {
    return FieldValue{static_cast<std::int64_t>(value)};
  }
}
template <class Value>
std::optional<FieldValue> value_of(const std::optional<Value>& value) {
  return value ? value_of(*value) : std::nullopt;
}

}  // namespace

std::optional<FieldValue> LimitField::get(const Limit& limit) const {
  return std::visit([&](auto each) { return value_of(limit.fields().*each); }, member);
}

std::optional<FieldValue> LimitField::told(const Limit& limit) const {
  const LimitFields unsaid;
  const auto is_said = [&](auto each) { return limit.fields().*each != unsaid.*each; };
  return is_required() || std::visit(is_said, member) ? get(limit) : std::nullopt;
}

void LimitField::set(LimitFields& fields, const FieldValue& value) const {
  std::visit(
      [&](auto each) {
        using Value = typename Plain<std::decay_t<decltype(fields.*each)>>::type;
        if constexpr (std::is_same_v<Value, std::string>) {
          fields.*each = std::string(value.text);
        } else if constexpr (std::is_same_v<Value, Duration>) {
          fields.*each = Duration::from_ns(value.number);
        } else {
          fields.*each = static_cast<Value>(value.number);
        }
      },
      member);
}

std::string LimitField::to_text(const FieldValue& value) const {
  if (type == FieldType::kText) return std::string(value.text);
  if (type == FieldType::kName) return std::string(base::name_of(names, value.number));
  return std::to_string(type == FieldType::kDuration ? value.number / kNsPerMicro : value.number);
}

std::optional<FieldValue> LimitField::parse(std::string_view text) const {
  if (type == FieldType::kText) return FieldValue{.text = text};
  FieldValue value;
  if (type == FieldType::kName) {
    const auto place = base::named<std::int64_t>(names, text);
    return place ? std::optional(FieldValue{*place}) : std::nullopt;
  }
  const std::int64_t unit = type == FieldType::kDuration ? kNsPerMicro : 1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value.number);
  const bool is_whole = failure == std::errc() && end == text.data() + text.size();
  if (!is_whole || __builtin_mul_overflow(value.number, unit, &value.number)) return std::nullopt;
  const bool fits = type == FieldType::kNumber ? std::in_range<int>(value.number)
                    : type == FieldType::kFlag ? value.number == 0 || value.number == 1
                                               : value.number >= 0;
  return fits ? std::optional(value) : std::nullopt;
}

std::string summary_of(const LimitField& field, bool lists_names) {
  std::string summary(field.help);
  if (lists_names && !field.names.empty()) summary += ": " + base::name_list(field.names);
  if (!field.note.empty()) summary.append("; ").append(field.note);
  return summary;
}

}  // namespace mete::core
