#include "wire/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "unit/wire/repeated.h"
#include "wire/text.h"

namespace mete::wire {
namespace {

using namespace std::string_view_literals;

std::string rewritten(const JsonValue& value) {
  std::string text;
  JsonWriter(text).value(value);
  return text;
}

TEST(ReadJson, KeepsWhatItReads) {
  const struct {
    std::string_view text;
    std::string_view compact;
  } rows[] = {
      {"null", "null"},
      {" true ", "true"},
      {"\t\r\n false", "false"},
      {"0", "0"},
      {"-1", "-1"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {R"("")", R"("")"},
      {R"("a\"\\\/\b\f\n\r\tz")", R"("a\"\\/\b\f\n\r\tz")"},
      {R"("\u0041\u00e4\u20AC\ud834\udd1e\u0000\u001f")", R"("Aä€𝄞\u0000\u001f")"},
      {R"("\uFFFF\uE000\ud7ff")", "\"\xEF\xBF\xBF\xEE\x80\x80\xED\x9F\xBF\""},
      {"[]", "[]"},
      {"[ 1 , [ ] , { } ]", "[1,[],{}]"},
      {R"({ "b" : 1 , "a" : { "b" : [ null ] } })", R"({"b":1,"a":{"b":[null]}})"},
      {R"({"":0})", R"({"":0})"},
  };
  for (const auto& row : rows) {
    const auto value = read_json(row.text);
    ASSERT_TRUE(value.has_value()) << row.text << ": " << value.error().message;
    EXPECT_EQ(rewritten(*value), row.compact);
    EXPECT_EQ(*read_json(row.compact), *value) << row.compact;
  }
}

TEST(ReadJson, TellsIntegersFromOtherNumbers) {
  for (const std::string_view text : {"-0", "1.5", "1.0", "0.1", "1e3", "1E+3", "1e-3", "1e999", "-0.0",
                                      "9223372036854775808", "-9223372036854775809", "100000000000000000000000"}) {
    const auto value = read_json(text);
    ASSERT_TRUE(value.has_value()) << text;
    ASSERT_NE(value->as<JsonNumber>(), nullptr) << text;
    EXPECT_EQ(value->as<JsonNumber>()->text, text);
  }
  EXPECT_EQ(*read_json("9007199254740993")->as<std::int64_t>(), 9'007'199'254'740'993) << "2^53 + 1, to the unit";
}

TEST(ReadJson, RefusesAndSaysWhere) {
  const struct {
    std::string_view text;
    std::size_t offset;
    std::string_view reason;
  } rows[] = {
      {"", 0, "expected a value, not the end"},
      {"  ", 2, "expected a value, not the end"},
      {"nul", 0, "expected a value"},
      {"True", 0, "expected a value"},
      {"'a'", 0, "expected a value"},
      {"\xEF\xBB\xBF{}", 0, "expected a value"},
      {"{} x", 3, "expected the end of the text"},
      {"{}{}", 2, "expected the end of the text"},
      {"1 2", 2, "expected the end of the text"},
      {"nullx", 4, "expected the end of the text"},
      {"{}\0"sv, 2, "expected the end of the text"},
      {"{", 1, "expected a name"},
      {"{a:1}", 1, "expected a name"},
      {R"({"a")", 4, "expected ':'"},
      {R"({"a" 1})", 5, "expected ':'"},
      {R"({"a":})", 5, "expected a value"},
      {R"({"a":1)", 6, "expected ',' or '}'"},
      {R"({"a":1,})", 7, "expected a name"},
      {R"({"a":1;"b":2})", 6, "expected ',' or '}'"},
      {R"({"a":1,"b":2,"a":3})", 13, R"(the name "a" stands twice)"},
      {R"({"a":1,"\u0061":3})", 7, R"(the name "a" stands twice)"},
      {"[", 1, "expected a value"},
      {"[1", 2, "expected ',' or ']'"},
      {"[1,]", 3, "expected a value"},
      {"[1 2]", 3, "expected ',' or ']'"},
      {"[,]", 1, "expected a value"},
      {"]", 0, "expected a value"},
      {"+1", 0, "expected a value"},
      {".5", 0, "expected a value"},
      {"-", 1, "expected a digit"},
      {"-a", 1, "expected a digit"},
      {"01", 0, "leading zeros"},
      {"-01", 0, "leading zeros"},
      {"1.", 2, "expected a digit after '.'"},
      {"1.e3", 2, "expected a digit after '.'"},
      {"1e", 2, "expected a digit of the exponent"},
      {"1e+", 3, "expected a digit of the exponent"},
      {"0x10", 1, "expected the end of the text"},
      {"NaN", 0, "expected a value"},
      {R"("abc)", 4, "closing quote"},
      {R"("\)", 1, "unknown escape"},
      {R"("\x41")", 1, "unknown escape"},
      {"\"a\nb\"", 2, "control character"},
      {"\"a\0b\""sv, 2, "control character"},
      {R"("\u12")", 1, "four hexadecimal digits"},
      {R"("\u12g4")", 1, "four hexadecimal digits"},
      {R"("\u-123")", 1, "four hexadecimal digits"},
      {R"("\ud800")", 1, "surrogate"},
      {R"("\udc00")", 1, "surrogate"},
      {R"("\ud800\ud800")", 1, "surrogate"},
      {R"("\ud800\u0041")", 1, "surrogate"},
      {R"("\ud800x")", 1, "surrogate"},
      {"\"\xFF\"", 1, "not UTF-8"},
      {"\"\xC0\x80\"", 1, "not UTF-8"},
      {"\"\xED\xA0\x80\"", 1, "not UTF-8"},
      {"\"a\xE2\x82\"", 2, "not UTF-8"},
  };
  for (const auto& row : rows) {
    const auto value = read_json(row.text);
    ASSERT_FALSE(value.has_value()) << quote(row.text);
    const std::string start = "JSON, at offset " + std::to_string(row.offset) + ": ";
    EXPECT_EQ(value.error().message.substr(0, start.size()), start) << quote(row.text) << ": " << value.error().message;
    EXPECT_NE(value.error().message.find(row.reason), std::string::npos) << value.error().message;
  }
}

TEST(ReadJson, HasLimits) {
  EXPECT_TRUE(read_json(repeated("[", kJsonDepthMax) + repeated("]", kJsonDepthMax)).has_value());
  EXPECT_FALSE(read_json(repeated("[", kJsonDepthMax + 1) + repeated("]", kJsonDepthMax + 1)).has_value());
  EXPECT_FALSE(read_json(repeated("[", 1'000'000)).has_value());
  EXPECT_FALSE(read_json(repeated(R"({"a":)", 1'000'000)).has_value());

  EXPECT_TRUE(read_json("[1" + repeated(",1", kJsonValuesMax - 2) + "]").has_value());
  EXPECT_FALSE(read_json("[1" + repeated(",1", kJsonValuesMax - 1) + "]").has_value());

  const auto object_of = [](std::size_t members) {
    std::string text = "{";
    for (std::size_t i = 0; i < members; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
    return text + "}";
  };
  EXPECT_TRUE(read_json(object_of(kJsonMembersMax)).has_value());
  EXPECT_FALSE(read_json(object_of(kJsonMembersMax + 1)).has_value());
}

TEST(JsonWriter, ShowsBytesThatAreNotUtf8) {
  const struct {
    std::string_view bytes;
    std::string_view text;
  } rows[] = {
      {"", R"("")"},
      {"a\"\\\n\x01\x7f", "\"a\\\"\\\\\\n\\u0001\x7f\""},
      {"\0"sv, R"("\u0000")"},
      {"grün", R"("grün")"},
      {"a\xFFz", R"("a\\xffz")"},
      {"\xC3", R"("\\xc3")"},
      {"\xC0\x80", R"("\\xc0\\x80")"},
      {"\xED\xA0\x80", R"("\\xed\\xa0\\x80")"},
  };
  for (const auto& row : rows) {
    std::string text;
    JsonWriter(text).string(row.bytes);
    EXPECT_EQ(text, row.text);
    EXPECT_TRUE(read_json(text).has_value()) << text;
  }
}

TEST(JsonWriter, PutsCommasAndIndents) {
  const auto write = [](JsonWriter::Layout layout) {
    std::string text;
    JsonWriter writer(text, layout);
    writer.begin_object().member("allowed", true).member("remaining", std::int64_t{9}).member("id", "x");
    writer.name("violated").begin_array().end_array().name("list").begin_array().integer(1).boolean(false);
    writer.begin_object().end_object().end_array().end_object();
    return text;
  };
  const std::string compact = write(JsonWriter::Layout::kCompact);
  EXPECT_EQ(compact, R"({"allowed":true,"remaining":9,"id":"x","violated":[],"list":[1,false,{}]})");
  const std::string indented = write(JsonWriter::Layout::kIndented);
  EXPECT_EQ(indented, R"({
  "allowed": true,
  "remaining": 9,
  "id": "x",
  "violated": [],
  "list": [
    1,
    false,
    {}
  ]
})");
  EXPECT_EQ(*read_json(indented), *read_json(compact));
}

}  // namespace
}  // namespace mete::wire
