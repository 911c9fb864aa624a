#include "server/limits/limit_fields.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/names.h"
#include "base/time_text.h"
#include "base/try.h"
#include "core/validate.h"
#include "wire/text.h"

namespace mete::server {

namespace {

using core::FieldType;
using core::FieldValue;
using core::LimitField;

// Of two fields of one name, that of the kind.
const LimitField* find_field(std::string_view name, Kind kind) {
  const LimitField* found = nullptr;
  for (const LimitField& field : core::kLimitFields) {
    if (field.name == name && (found == nullptr || field.is_of(kind))) found = &field;
  }
  return found;
}

std::string names_text() {
  std::string text;
  for (const LimitField& field : core::kLimitFields) {
    if (field.own_name != field.name) continue;
    if (!text.empty()) text += &field == &core::kLimitFields.back() ? " and " : ", ";
    text += field.name;
  }
  return text;
}

Result<FieldValue> read_duration(std::string_view name, const wire::Scalar& value) {
  if (std::holds_alternative<bool>(value)) {
    return base::invalid(std::string(name) + " must be a duration, such as \"1m\", or a number of seconds");
  }
  const auto* seconds = std::get_if<std::int64_t>(&value);
  const auto length =
      wire::parse_duration(seconds != nullptr ? std::to_string(*seconds) : std::get<std::string>(value));
  if (!length) return base::invalid(std::string(name) + ": " + length.error().message);
  return FieldValue{length->ns()};
}

// The field with the right type of value, or else the words for it.
Result<FieldValue> read_value(const LimitField& field, const wire::Scalar& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  const auto* text = std::get_if<std::string>(&value);
  const auto* flag = std::get_if<bool>(&value);
  const std::string must_be = std::string(field.name) + " must be ";
  switch (field.type) {
    case FieldType::kName:
      if (const auto named = text != nullptr ? field.parse(*text) : std::nullopt) return *named;
      return base::invalid(std::string(field.name) + (field.own_name == field.name ? "" : " of a calendar") +
                           " must be " + base::name_list(field.names));
    case FieldType::kAmount:
    case FieldType::kNumber:
      if (number == nullptr) return base::invalid(must_be + "an integer");
      if (field.type == FieldType::kAmount || std::in_range<int>(*number)) return FieldValue{*number};
      return base::invalid(must_be + "of 32 bits, not " + std::to_string(*number));
    case FieldType::kDuration:
      return read_duration(field.name, value);
    case FieldType::kFlag:
      if (flag == nullptr) return base::invalid(must_be + "true or false");
      return FieldValue{*flag ? 1 : 0};
    case FieldType::kText:
      if (text == nullptr) return base::invalid(must_be + "a string");
      return FieldValue{.text = *text};
  }
  __builtin_unreachable();
}

Result<void> set_field(LimitFields& fields, const wire::NamedValue& given) {
  const LimitField* const field = find_field(given.name, fields.kind);
  if (field == nullptr) {
    return base::invalid(wire::quote(given.name) + " is no field of a limit; there are " + names_text());
  }
  const auto value = TRY(read_value(*field, given.value));
  field->set(fields, value);
  return {};
}

wire::Scalar scalar_of(const LimitField& field, const FieldValue& value) {
  if (field.type == FieldType::kDuration) return base::duration_text(Duration::from_ns(value.number));
  if (field.type == FieldType::kFlag) return value.number != 0;
  if (field.type == FieldType::kName || field.type == FieldType::kText) return field.to_text(value);
  return value.number;
}

}  // namespace

Result<Limit> make_limit(std::string name, std::span<const wire::NamedValue> values) {
  LimitFields fields{.name = std::move(name)};
  const auto is_kind = [](const wire::NamedValue& value) { return value.name == core::kLimitFields[0].name; };
  const auto kind = std::find_if(values.begin(), values.end(), is_kind);
  if (kind == values.end()) return base::invalid("kind is missing: " + base::name_list(core::kKindNames));
  // It is read first, since the others depend on it.
  TRY(set_field(fields, *kind));
  for (const wire::NamedValue& value : values) TRY(set_field(fields, value));
  Limit limit(std::move(fields));
  TRY(core::validate_limit(limit));
  return limit;
}

wire::Scalar value_of_word(const LimitField& field, std::string_view word) {
  if (field.type == FieldType::kFlag) return true;
  if (field.type == FieldType::kAmount || field.type == FieldType::kNumber) {
    if (const auto number = wire::parse_integer(word)) return *number;
  }
  std::string text(word);
  const bool is_verbatim = field.type == FieldType::kText || (!text.empty() && text[0] >= '0' && text[0] <= '9');
  for (char& letter : text) {
    if (!is_verbatim) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

wire::NamedValues describe_limit(const Limit& limit) {
  wire::NamedValues values;
  for (const LimitField& field : core::kLimitFields) {
    if (const auto value = field.told(limit)) values.push_back({field.name, scalar_of(field, *value)});
  }
  return values;
}

wire::NamedValues tell_limit(store::Store& store, const Limit& limit) {
  wire::NamedValues values = describe_limit(limit);
  values.insert(values.begin(), {"name", std::string(limit.name())});
  if (limit.scope() != Scope::kEscrow) return values;
  const auto outstanding = store.outstanding(limit.name());
  if (outstanding.has_value() && *outstanding) values.push_back({"outstanding", **outstanding});
  return values;
}

}  // namespace mete::server
