#include "cli/import/import_report.h"

#include <gmock/gmock.h>

#include <sstream>

namespace mete::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string printed(const ImportReport& report) {
  std::ostringstream out;
  report.print(out);
  return out.str();
}

void add(ImportReport& report, const Standing& standing, const Entry& entry) {
  report.add_change(entry, standing, change_between(standing, entry));
}

TEST(ImportReport, TellsTotals) {
  ImportReport report(false);
  add(report, {0, 100}, {"a", 70, 100});
  add(report, {5, 100}, {"b", 5, 2000});
  add(report, {5, 100}, {"c", 5, 100});
  report.add_skipped({.skipped = {{"q:d", "'x' is not an integer"}}, .earlier_months = 1200});
  EXPECT_EQ(printed(report),
            "imported                    2 (usage of 1, amount of 1)\n"
            "unchanged                   1\n"
            "skipped                     1\n"
            "skipped, of earlier months  1,200\n"
            "\n"
            "SKIPPED  WHY\n"
            "q:d      'x' is not an integer\n");
  EXPECT_EQ(report.seen(), 1204U);
  EXPECT_EQ(report.imported(), 2U);
  EXPECT_TRUE(report.has_skipped());
}

TEST(ImportReport, OfADryRunShowsTheFirstChanges) {
  ImportReport report(true);
  add(report, {0, 100}, {"a", 70, 2000});
  add(report, {5, 100}, {"b\n", 6, 100});
  add(report, {5, 100}, {"c", 5, 100});
  EXPECT_EQ(printed(report),
            "KEY      USED       AMOUNT\n"
            "a      0 → 70  100 → 2,000\n"
            "\"b\\n\"   5 → 6          100\n"
            "\n"
            "to import  2 (usage of 2, amount of 1)\n"
            "unchanged  1\n"
            "skipped    0\n"
            "\n"
            "This was a dry run: nothing was changed.\n");
  EXPECT_FALSE(report.has_skipped());
}

TEST(ImportReport, NamesTheFirstTen) {
  ImportReport report(true);
  for (int i = 10; i < 25; ++i) {
    add(report, {0, 100}, {"key" + std::to_string(i), 70, 100});
    report.add_skipped({.skipped = {{"name" + std::to_string(i), "why"}}});
  }
  const std::string text = printed(report);
  EXPECT_THAT(text, HasSubstr("key19 "));
  EXPECT_THAT(text, Not(HasSubstr("key20")));
  EXPECT_THAT(text, HasSubstr("name19 "));
  EXPECT_THAT(text, Not(HasSubstr("name20")));
  const std::string rest = "… and 5 more\n";
  EXPECT_NE(text.find(rest), text.rfind(rest)) << "of the changes and of the skipped";
}

TEST(ImportReport, OfEarlierMonthsAloneIsFine) {
  ImportReport report(false);
  report.add_skipped({.earlier_months = 3});
  EXPECT_FALSE(report.has_skipped());
}

TEST(ImportReport, IsJsonToo) {
  ImportReport report(false);
  add(report, {0, 100}, {"a", 70, 2000});
  report.add_skipped({.skipped = {{"q:d", "why"}}, .earlier_months = 3});
  std::string text;
  wire::JsonWriter writer(text);
  writer.begin_object();
  report.write(writer);
  writer.end_object();
  EXPECT_EQ(text, R"({"dry_run":false,"imported":1,"usages":1,"amounts":1,"unchanged":0,"skipped":1,)"
                  R"("skipped_earlier_months":3,"first_changes":[{"key":"a","used_before":0,"used":70,)"
                  R"("amount_before":100,"amount":2000}],"first_skipped":[{"name":"q:d","reason":"why"}]})");
}

}  // namespace
}  // namespace mete::cli
