#include "cli/frame/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "cli/frame/table.h"

namespace mete::cli {
namespace {

TEST(Text, IsHarmlessOnATerminal) {
  const struct {
    std::string_view bytes;
    std::string_view shown;
    std::string_view printable;
    std::string_view escaped;
  } rows[] = {
      {"alice", "'alice'", "alice", "alice"},
      {"two words", "'two words'", "two words", "two words"},
      {"grün", "'grün'", "grün", "grün"},
      {"", "''", R"("")", ""},
      {" x", "' x'", R"(" x")", " x"},
      {R"("x)", R"('"x')", R"("\"x")", R"("x)"},
      {"a\033[31m", R"("a\x1b[31m")", R"("a\x1b[31m")", R"(a\x1b[31m)"},
      {"a\nb", R"("a\nb")", R"("a\nb")", R"(a\nb)"},
      {"a\xC2\x9B", R"("a\xc2\x9b")", R"("a\xc2\x9b")", R"(a\xc2\x9b)"},
      {"a\xE2\x80\x8B", R"("a\xe2\x80\x8b")", R"("a\xe2\x80\x8b")", R"(a\xe2\x80\x8b)"},
      {"a\xE2\x81\xA0", R"("a\xe2\x81\xa0")", R"("a\xe2\x81\xa0")", R"(a\xe2\x81\xa0)"},
      {"a\xFF", R"("a\xff")", R"("a\xff")", R"(a\xff)"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(shown(row.bytes), row.shown);
    EXPECT_EQ(printable(row.bytes), row.printable);
    EXPECT_EQ(escaped(row.bytes), row.escaped);
  }
}

// U+202E turns the direction of what follows; put together here, so that no editor obeys it.
TEST(Text, CannotTurnItsDirection) { EXPECT_EQ(printable(std::string("a\xE2\x80") + '\xAE'), R"("a\xe2\x80\xae")"); }

TEST(Text, IsCutByColumns) {
  EXPECT_EQ(columns_of("grün…"), 5U);
  EXPECT_EQ(cut("grün", 4), "grün");
  EXPECT_EQ(cut("grün", 3), "gr…");
  EXPECT_EQ(cut("grün und blau", 5), "grün…");
  EXPECT_EQ(cut("grün", 1), "…");
  EXPECT_EQ(cut("grün", 0), "");
}

// Rounded up: whoever waits for so long has waited long enough.
TEST(Text, DurationsAreAsPeopleWriteThem) {
  const struct {
    std::int64_t milliseconds;
    std::string_view text;
  } rows[] = {
      {0, "0 ms"},
      {999, "999 ms"},
      {1'000, "1 s"},
      {4'501, "4.6 s"},
      {9'900, "9.9 s"},
      {9'901, "10 s"},
      {59'000, "59 s"},
      {59'001, "1 min"},
      {125'000, "2 min 5 s"},
      {3'599'001, "1 h"},
      {3'600'001, "1 h 1 min"},
      {86'340'001, "1 d"},
      {86'400'000 + 3'600'001, "1 d 2 h"},
      {std::numeric_limits<std::int64_t>::max(), "106751991167 d 8 h"},
  };
  for (const auto& row : rows) EXPECT_EQ(duration_text(row.milliseconds), row.text) << row.milliseconds;
}

TEST(Text, NumbersAreGrouped) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(999), "999");
  EXPECT_EQ(number_text(-999), "-999");
  EXPECT_EQ(number_text(1'000), "1,000");
  EXPECT_EQ(number_text(-1'234'567), "-1,234,567");
  EXPECT_EQ(size_text(1'023), "1023 B");
  EXPECT_EQ(size_text(1'536), "1.5 kB");
  EXPECT_EQ(size_text(std::int64_t{5} << 30), "5 GB");
  EXPECT_EQ(size_text(std::numeric_limits<std::int64_t>::max()), "8191.9 PB");
}

TEST(Table, ColumnsAreAsWideAsTheyNeedToBe) {
  Table table({{"KEY"}, {"USED", Table::kRight}, {"TAG"}});
  table.add({"grün", "5", ""});
  table.add({"x", "12,345", "y"});
  EXPECT_EQ(table.lines(), (std::vector<std::string>{"KEY     USED  TAG", "grün       5", "x     12,345  y"}));
}

}  // namespace
}  // namespace mete::cli
