#include "server/doors/http/schema.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "core/limit_fields.h"
#include "server/doors/http/schemas.h"
#include "wire/text.h"

namespace mete::server {

namespace {

using wire::JsonArray;
using wire::JsonNumber;
using wire::JsonObject;
using wire::JsonValue;

// Where a value stands, as in charges[2].cost; made into text only for a message.
struct MemberPath {
  const MemberPath* parent = nullptr;
  std::string_view name = {};
  std::optional<std::size_t> index = std::nullopt;

  [[nodiscard]] std::string text() const {
    if (index) return parent->text() + "[" + std::to_string(*index) + "]";
    const std::string prefix = parent == nullptr ? "" : parent->text();
    return prefix + (prefix.empty() ? "" : ".") + std::string(name);
  }
};

// What stands where something else was wanted.
std::string description(const JsonValue& value) {
  if (const auto* text = value.as<std::string>()) return wire::quote(*text);
  if (value.as<JsonObject>() != nullptr) return "an object";
  if (value.as<JsonArray>() != nullptr) return "an array";
  std::string json;
  if (const auto* number = value.as<JsonNumber>()) return number->text.substr(0, 64);
  wire::JsonWriter(json).value(value);
  return json;
}

MemberType type_of(core::FieldType type) {
  if (type == core::FieldType::kDuration) return MemberType::kDuration;
  if (type == core::FieldType::kFlag) return MemberType::kBoolean;
  return type == core::FieldType::kName || type == core::FieldType::kText ? MemberType::kText : MemberType::kInteger;
}

std::string_view wanted(MemberType type) {
  const std::string_view wanted =
      base::name_of("a string|an integer|true or false|a string such as \"1h\", or an integer of seconds", type);
  return wanted.empty() ? "an array" : wanted;
}

bool is_array(MemberType type) {
  return type == MemberType::kTexts || type == MemberType::kIntegers || type == MemberType::kObjects;
}

bool is_of(const JsonValue& value, MemberType type) {
  const bool is_text = value.as<std::string>() != nullptr;
  const bool is_integer = value.as<std::int64_t>() != nullptr;
  switch (type) {
    case MemberType::kText:
      return is_text;
    case MemberType::kInteger:
      return is_integer;
    case MemberType::kBoolean:
      return value.as<bool>() != nullptr;
    case MemberType::kDuration:
      return is_text || is_integer;
    default:
      return value.as<JsonArray>() != nullptr;
  }
}

Result<void> check_choice(const std::string& text, std::string_view choices, const MemberPath& path) {
  if (choices.empty()) return {};
  bool is_one = false;
  std::string list;
  base::any_name(choices, [&](std::string_view choice) {
    is_one |= choice == text;
    list += (list.empty() ? "" : ", ") + wire::quote(choice);
    return false;
  });
  if (is_one) return {};
  return base::invalid(path.text() + " must be one of " + list + ", not " + wire::quote(text));
}

// An integer, but of more than 64 bits.
bool is_out_of_range(const JsonValue& value, MemberType type) {
  const auto* number = value.as<JsonNumber>();
  const bool takes_integers = type == MemberType::kInteger || type == MemberType::kDuration;
  return takes_integers && number != nullptr && number->text != "-0" &&
         number->text.find_first_not_of("-0123456789") == std::string::npos;
}

Result<void> check_scalar(const JsonValue& value, const MemberSpec& member, const MemberPath& path) {
  if (is_out_of_range(value, member.type)) {
    return base::invalid(path.text() + " is out of range: an integer has 64 bits at most, and " + description(value) +
                         " has more");
  }
  if (!is_of(value, member.type)) {
    return base::invalid(path.text() + " must be " + std::string(wanted(member.type)) + ", not " + description(value));
  }
  const auto* text = value.as<std::string>();
  if (text == nullptr) return {};
  if (text->find('\0') != std::string::npos) return base::invalid(path.text() + " must not have a NUL");
  return check_choice(*text, member.choices, path);
}

Result<void> check_members(const JsonValue& value, const Schema& schema, const MemberPath& path);

Result<void> check_array(const JsonArray& array, const MemberSpec& member, const MemberPath& path) {
  const MemberType type = member.type == MemberType::kTexts ? MemberType::kText : MemberType::kInteger;
  for (std::size_t i = 0; i < array.size(); ++i) {
    const MemberPath element = {&path, {}, i};
    TRY(member.elements != nullptr ? check_members(array[i], *member.elements, element)
                                   : check_scalar(array[i], {member.name, type, true, {}}, element));
  }
  return {};
}

Result<void> check_members(const JsonValue& value, const Schema& schema, const MemberPath& path) {
  const auto* object = value.as<JsonObject>();
  if (object == nullptr) {
    const std::string text = path.text();
    return base::invalid((text.empty() ? "the body" : text) + " must be an object, not " + description(value));
  }
  for (const wire::JsonMember& member : *object) {
    const MemberPath at = {&path, member.name};
    const auto spec = std::find_if(schema.members.begin(), schema.members.end(),
                                   [&](const MemberSpec& each) { return each.name == member.name; });
    if (spec == schema.members.end()) return base::invalid("unknown field " + wire::quote(at.text()));
    const auto* array = member.value.as<JsonArray>();
    TRY(array != nullptr && is_array(spec->type) ? check_array(*array, *spec, at)
                                                 : check_scalar(member.value, *spec, at));
  }
  for (const MemberSpec& spec : schema.members) {
    if (spec.is_required && find_member(value, spec.name) == nullptr) {
      return base::invalid(MemberPath{&path, spec.name}.text() + " is missing");
    }
  }
  return {};
}

}  // namespace

Result<void> check_object(const JsonValue& value, const Schema& schema) { return check_members(value, schema, {}); }

Result<void> check_list(const JsonValue& value, const Schema& schema) {
  const auto* list = value.as<JsonArray>();
  if (list == nullptr) return base::invalid("the body must be an array, not " + description(value));
  return check_array(*list, {.type = MemberType::kObjects, .elements = &schema}, {});
}

Members schema::limit_members() {
  static std::deque<std::string> summaries;
  Members members = {{"name", kText, kOptional, "As in the path."}};
  for (const core::LimitField& field : core::kLimitFields) {
    if (field.own_name != field.name) continue;  // the other one of that name has said it
    const std::string& summary = summaries.emplace_back(core::summary_of(field, false) + ".");
    members.push_back({field.name, type_of(field.type), field.is_required(), summary, field.names});
  }
  members.push_back({"outstanding", kInteger, kOptional,
                     "In answers, of scope escrow: what nodes have drawn and not spent. Means nothing in a request."});
  return members;
}

const JsonValue* find_member(const JsonValue& object, std::string_view name) {
  const auto* members = object.as<JsonObject>();
  CHECK(members != nullptr);
  for (const wire::JsonMember& member : *members) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

}  // namespace mete::server
