// JSON as requests and answers have it: a strict reader into a small tree, and a writer that appends to a string.
//
// The reader is our own, since others let things pass that two programs may understand differently (Boost.JSON keeps
// the last of two members of one name and says nothing). It takes exactly RFC 8259 in UTF-8, and refuses
//   - two members of one name, surrogates without their other half, bytes that are not UTF-8, a byte order mark,
//   - anything after the value but white space,
//   - more than kJsonDepthMax levels, kJsonValuesMax values and kJsonMembersMax members of an object: what a text
//     costs in memory is bounded by its length and these.
// An error tells the offset in bytes and the reason.
//
// Numbers: an integer of 64 bits is an std::int64_t, exactly. Every other number is valid JSON and none of ours: 1.5,
// 1e3, 1.0, 2^63, and -0, which wire/text.h does not take for an integer either. It is kept as its text, in a
// JsonNumber, so that whoever wanted an integer can name the field.
//
// The writer's strings are any bytes. What is not UTF-8 in them comes out as the four characters \xNN for each such
// byte: to be read by people. It cannot be sent back, as JSON has no way to write it.
//
// Thread safety: values; a JsonWriter belongs to one thread.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wire/named_value.h"

namespace mete::wire {

inline constexpr std::size_t kJsonDepthMax = 32;
inline constexpr std::size_t kJsonValuesMax = std::size_t{1} << 16;  // as the longest list of takes has, and more
inline constexpr std::size_t kJsonMembersMax = 256;

struct JsonValue;
struct JsonMember;

struct JsonNull {
  bool operator==(const JsonNull&) const = default;
};
// A number that is not an integer of 64 bits, as it was written.
struct JsonNumber {
  std::string text;
  bool operator==(const JsonNumber&) const = default;
};
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<JsonMember>;  // in the order of the text

struct JsonValue {
  std::variant<JsonNull, bool, std::int64_t, JsonNumber, std::string, JsonArray, JsonObject> value;

  // Null where the value is of another type.
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&value);
  }
  bool operator==(const JsonValue& other) const;
};

struct JsonMember {
  std::string name;
  JsonValue value;
  bool operator==(const JsonMember&) const = default;
};

inline bool JsonValue::operator==(const JsonValue& other) const { return value == other.value; }

Result<JsonValue> read_json(std::string_view text);

// Writes a value piece by piece, and puts the commas; the calls must make a value, as in
//     JsonWriter(out).begin_object().member("allowed", true).name("violated").begin_array().end_array().end_object();
class JsonWriter {
 public:
  enum class Layout : std::uint8_t { kCompact, kIndented };
  explicit JsonWriter(std::string& out, Layout layout = Layout::kCompact) : out_(out), layout_(layout) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& name(std::string_view name);
  JsonWriter& string(std::string_view bytes);
  JsonWriter& integer(std::int64_t number);
  JsonWriter& boolean(bool value);
  JsonWriter& value(const JsonValue& value);

  JsonWriter& member(std::string_view member, std::string_view bytes) { return name(member).string(bytes); }
  JsonWriter& member(std::string_view member, const char* text) { return name(member).string(text); }
  JsonWriter& member(std::string_view member, std::int64_t number) { return name(member).integer(number); }
  JsonWriter& member(std::string_view member, bool value) { return name(member).boolean(value); }
  // An array of texts.
  template <class Texts>
  JsonWriter& texts(std::string_view member, const Texts& texts) {
    name(member).begin_array();
    for (const auto& text : texts) string(text);
    return end_array();
  }
  // Several members of an object that is open.
  JsonWriter& members(std::span<const NamedValue> values) {
    for (const auto& [name, value] : values)
      std::visit([&, &name = name](const auto& each) { member(name, each); }, value);
    return *this;
  }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void break_line();

  std::string& out_;
  Layout layout_;
  std::size_t depth_ = 0;
  bool needs_comma_ = false;
  bool follows_name_ = false;
};

}  // namespace mete::wire
