#include "wire/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace mete::wire {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

TEST(ParseInteger, TakesPlainDecimalsOf64Bits) {
  const struct {
    std::string_view text;
    std::optional<std::int64_t> integer;
  } rows[] = {
      {"0", 0},
      {"7", 7},
      {"-7", -7},
      {"123456789", 123'456'789},
      {"999999999", 999'999'999},
      {"1000000000", 1'000'000'000},
      {"4294967296", 4'294'967'296},
      {"12345678a", std::nullopt},
      {"1/2", std::nullopt},
      {"1:2", std::nullopt},
      {"1\xff", std::nullopt},
      {"9007199254740993", 9'007'199'254'740'993},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {"9223372036854775808", std::nullopt},
      {"-9223372036854775809", std::nullopt},
      {"", std::nullopt},
      {"-", std::nullopt},
      {"-0", std::nullopt},
      {"00", std::nullopt},
      {"01", std::nullopt},
      {"-01", std::nullopt},
      {"+1", std::nullopt},
      {" 1", std::nullopt},
      {"1 ", std::nullopt},
      {"1.0", std::nullopt},
      {"1e3", std::nullopt},
      {"0x5", std::nullopt},
      {"1\0"sv, std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_integer(row.text), row.integer) << quote(row.text);
}

TEST(ParseDuration, TakesEveryUnitUpToItsEdge) {
  const struct {
    std::string_view text;
    Duration duration;
  } rows[] = {
      {"0", 0s},  {"5", 5s},         {"250ms", 250ms},           {"1s", 1s},          {"5m", 5min},
      {"1h", 1h}, {"30d", 24h * 30}, {"106751d", 24h * 106'751}, {"366d", 24h * 366},
  };
  for (const auto& row : rows) {
    const auto duration = parse_duration(row.text);
    ASSERT_TRUE(duration.has_value()) << row.text << ": " << duration.error().message;
    EXPECT_EQ(duration->ns(), row.duration.ns()) << row.text;
  }
}

TEST(ParseDuration, SaysWhatIsWrong) {
  const struct {
    std::string_view text;
    std::string_view reason;
  } rows[] = {
      {"", "does not start with a number"},
      {"m", "does not start with a number"},
      {"-1s", "does not start with a number"},
      {"+1s", "does not start with a number"},
      {" 1s", "does not start with a number"},
      {"1 s", "unknown unit"},
      {"1M", "unknown unit"},
      {"1.5s", "its number must be whole"},
      {"1s ", "unknown unit"},
      {"1h30m", "unknown unit"},
      {"01s", "leading zeros"},
      {"9223372036854775808ms", "out of range"},
      {"106752d", "longer than 292 years"},
      {"1\n", "unknown unit"},
  };
  for (const auto& row : rows) {
    const auto duration = parse_duration(row.text);
    ASSERT_FALSE(duration.has_value()) << row.text;
    EXPECT_EQ(duration.error().code, ErrorCode::kInvalid);
    EXPECT_NE(duration.error().message.find(row.reason), std::string::npos) << duration.error().message;
    EXPECT_EQ(duration.error().message.find('\n'), std::string::npos) << "a message is one line";
  }
}

TEST(Unescape, TakesBackWhatQuoteHasDone) {
  std::string all;
  for (int code = 0; code < 256; ++code) all += static_cast<char>(code);
  for (const std::string& bytes : {std::string(), std::string("api"), std::string(R"(a"b\n)"), all}) {
    const std::string quoted = quote(bytes, bytes.size());
    EXPECT_EQ(unescape(quoted.substr(1, quoted.size() - 2)), bytes);
  }
  for (const std::string_view foreign : {R"(\q)", R"(\)", R"(\x1)", R"(\xg1)"}) EXPECT_EQ(unescape(foreign), foreign);
}

TEST(Quote, KeepsALineALine) {
  const struct {
    std::string_view bytes;
    std::string_view text;
  } rows[] = {
      {"", R"("")"},
      {"plain text", R"("plain text")"},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"a\r\n\tb", R"("a\r\n\tb")"},
      {"\0\x1b\x7f\xff"sv, R"("\x00\x1b\x7f\xff")"},
  };
  for (const auto& row : rows) EXPECT_EQ(quote(row.bytes), row.text);
  EXPECT_EQ(quote("abcdef", 3), "\"abc…\"");
  EXPECT_EQ(quote("abc", 3), "\"abc\"");
}

TEST(EqualsIgnoringCase, IsForAsciiAlone) {
  EXPECT_TRUE(equals_ignoring_case("", ""));
  EXPECT_TRUE(equals_ignoring_case("Content-Length", "cONTENT-lENGTH"));
  EXPECT_FALSE(equals_ignoring_case("abc", "abcd"));
  EXPECT_FALSE(equals_ignoring_case("[", "{"));
  EXPECT_FALSE(equals_ignoring_case("ä", "Ä"));
}

TEST(Utf8, TakesOnlyTheShortestForms) {
  for (const std::string_view bytes : {""sv, "abc"sv, "\0"sv, "ä"sv, "€"sv, "𝄞"sv, "\xED\x9F\xBF"sv, "\xEE\x80\x80"sv,
                                       "\xEF\xBF\xBF"sv, "\xF4\x8F\xBF\xBF"sv}) {
    EXPECT_TRUE(is_utf8(bytes)) << quote(bytes);
  }
  for (const std::string_view bytes :
       {"\x80"sv, "\xBF"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xC3"sv, "\xC3("sv, "\xE0\x80\x80"sv, "\xE0\x9F\xBF"sv,
        "\xE2\x82"sv, "\xED\xA0\x80"sv, "\xED\xBF\xBF"sv, "\xF0\x80\x80\x80"sv, "\xF0\x8F\xBF\xBF"sv,
        "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFE"sv, "\xFF"sv, "a\xFF"sv}) {
    EXPECT_FALSE(is_utf8(bytes)) << quote(bytes);
  }
}

}  // namespace
}  // namespace mete::wire
