// What is read from Redis, and what of it can be imported.
#include "cli/import/findings.h"

#include <gmock/gmock.h>

#include "unit/cli/table.h"

namespace mete::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(StoredAmount, IsTakenAsItIs) {
  struct Row {
    std::string text;
    Amount least;
    Amount amount;
  };
  const Row rows[] = {
      {"0", 0, 0},
      {"1", 1, 1},
      {"800", 0, 800},
      {"9007199254740991", 0, 9'007'199'254'740'991},
  };
  for (const Row& row : rows) {
    const StoredAmount amount = read_amount(bulk(row.text), row.least);
    ASSERT_TRUE(amount.has_value()) << row.text << amount.error();
    EXPECT_EQ(*amount, row.amount);
  }
  const StoredAmount missing = read_amount({.type = wire::RespType::kNull}, 0);
  ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(*missing, std::nullopt);
}

TEST(StoredAmount, OrNotAtAll) {
  struct Row {
    wire::RespValue reply;
    Amount least;
    std::string reason;
  };
  const Row rows[] = {
      {bulk("2e+17"), 0, "'2e+17' is not an integer: a script has written it as a fraction, and units may be lost"},
      {bulk("1.5E3"), 0, "'1.5E3' is not an integer: a script"},
      {bulk("-5"), 0, "'-5' is below 0"},
      {bulk("-1"), 1, "'-1' is below 0"},
      {bulk("0"), 1, "'0': an amount is 1 at least"},
      {bulk("1.5"), 0, "'1.5' is not an integer"},
      {bulk(""), 0, "'' is not an integer"},
      {bulk("e"), 0, "'e' is not an integer"},
      {bulk("many"), 0, "'many' is not an integer"},
      {bulk("007"), 0, "'007' is not an integer"},
      {bulk("+5"), 0, "'+5' is not an integer"},
      {bulk(" 5"), 0, "' 5' is not an integer"},
      {bulk("0x10"), 0, "'0x10' is not an integer"},
      {bulk("inf"), 0, "'inf' is not an integer"},
      {bulk("9007199254740992"), 0, "'9007199254740992' is more than 9,007,199,254,740,991"},
      {bulk("200000000000000000000"), 0, "is more than 9,007,199,254,740,991"},
      {bulk("5\n"), 0, R"("5\n" is not an integer)"},
      {bulk(std::string(1000, 'x')), 0, "…' is not an integer"},
      {{.type = wire::RespType::kError, .text = "WRONGTYPE Operation"}, 0, "is no string: WRONGTYPE Operation"},
  };
  for (const Row& row : rows) {
    const StoredAmount amount = read_amount(row.reply, row.least);
    ASSERT_FALSE(amount.has_value()) << row.reply.text;
    EXPECT_THAT(amount.error(), HasSubstr(row.reason));
    EXPECT_LT(amount.error().size(), 200U);
  }
}

const StoredAmount kMissing = std::nullopt;
const StoredAmount kBad = std::string("'x' is not an integer");

// Both counters were asked for.
Findings both(const StoredAmount& used, const StoredAmount& amount, const std::string& key = "acme") {
  Findings findings;
  add_pair({.key = key, .used = StoredPart{"acme:used", used}, .amount = StoredPart{"acme:limit", amount}}, findings);
  return findings;
}

TEST(StoredPair, IsImportedWhole) {
  EXPECT_EQ(both(70, 100), (Findings{.entries = {{"acme", 70, 100}}}));
  EXPECT_EQ(both(170, 100), (Findings{.entries = {{"acme", 170, 100}}})) << "what was used stays used";
}

TEST(StoredPair, IsSkippedWhole) {
  struct Row {
    StoredAmount used;
    StoredAmount amount;
    std::string name;
    std::string reason;
  };
  const Row rows[] = {
      {kBad, 100, "acme:used", "'x' is not an integer"},
      {70, kBad, "acme:limit", "'x' is not an integer"},
      {kBad, kMissing, "acme:used", "'x' is not an integer"},
      {kMissing, kBad, "acme:limit", "'x' is not an integer"},
      {70, kMissing, "acme:used", "there is no 'acme:limit'; --used alone imports usage"},
      {kMissing, 100, "acme:limit", "there is no 'acme:used'; --limit alone imports amounts"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(both(row.used, row.amount), (Findings{.skipped = {{row.name, row.reason}}})) << row.reason;
  }
  EXPECT_EQ(both(kMissing, kMissing), Findings{}) << "it has expired since it was found";
  for (const std::string& key : {std::string(), std::string(513, 'k')}) {
    const Findings findings = both(70, 100, key);
    EXPECT_THAT(findings.entries, IsEmpty());
    ASSERT_THAT(findings.skipped, SizeIs(1));
    EXPECT_THAT(findings.skipped[0].reason, HasSubstr("the star stands for no key: "));
  }
}

TEST(StoredPair, OfOneCounterAlone) {
  Findings findings;
  add_pair({.key = "a", .used = StoredPart{"a:used", 70}, .amount = {}}, findings);
  add_pair({.key = "b", .used = {}, .amount = StoredPart{"b:limit", 100}}, findings);
  add_pair({.key = "c", .used = StoredPart{"c:used", kMissing}, .amount = {}}, findings);
  add_pair({.key = "d", .used = {}, .amount = StoredPart{"d:limit", kBad}}, findings);
  EXPECT_EQ(findings, (Findings{.entries = {{"a", 70, std::nullopt}, {"b", std::nullopt, 100}},
                                .skipped = {{"d:limit", "'x' is not an integer"}}}));
}

constexpr Month kJanuary(std::chrono::year(2026), std::chrono::January);

TEST(Months, AreReadStrictly) {
  EXPECT_EQ(parse_month("2026-01"), kJanuary);
  EXPECT_EQ(parse_month("2025-12"), Month(std::chrono::year(2025), std::chrono::December));
  for (const std::string text : {"", "2026", "2026-1", "2026-001", "2026-00", "2026-13", "2026/01", "26-01", "2026-0a",
                                 " 2026-01", "2026-01 ", "-026-01", "202-601"}) {
    EXPECT_EQ(parse_month(text), std::nullopt) << text;
  }
  EXPECT_EQ(month_text(kJanuary), "2026-01");
}

TEST(Months, BeginByTheClocksOfTheirZone) {
  struct Row {
    std::uint64_t seconds;
    std::string zone;
    std::string month;
  };
  const Row rows[] = {
      {1'767'225'599, "UTC", "2025-12"},  // 2025-12-31 23:59:59
      {1'767'225'600, "UTC", "2026-01"},
      {1'767'221'999, "Europe/Berlin", "2025-12"},
      {1'767'222'000, "Europe/Berlin", "2026-01"},
      {1'767'261'599, "Pacific/Honolulu", "2025-12"},
      {1'767'261'600, "Pacific/Honolulu", "2026-01"},
  };
  for (const Row& row : rows) {
    const auto month = month_at(Instant::from_unix_seconds(row.seconds), row.zone);
    ASSERT_TRUE(month) << month.error().message;
    EXPECT_EQ(month_text(*month), row.month) << row.seconds << " " << row.zone;
  }
  EXPECT_FALSE(month_at(Instant::from_unix_seconds(1'767'225'600), "Mars/Olympus"));
}

TEST(Months, OnlyTheCurrentOneCounts) {
  Findings findings;
  EXPECT_TRUE(is_of_month({"users:1:quota:2026-01", "1", "2026-01"}, kJanuary, findings));
  EXPECT_EQ(findings, Findings{});
  EXPECT_FALSE(is_of_month({"users:1:quota:2025-12", "1", "2025-12"}, kJanuary, findings));
  EXPECT_FALSE(is_of_month({"users:1:quota:2026-02", "1", "2026-02"}, kJanuary, findings));
  EXPECT_FALSE(is_of_month({"users:1:quota:all", "1", "all"}, kJanuary, findings));
  EXPECT_EQ(findings,
            (Findings{.skipped = {{"users:1:quota:2026-02", "of a month that has not begun: it is 2026-01 now"},
                                  {"users:1:quota:all", "'all' is no month, as YYYY-MM"}},
                      .earlier_months = 1}));
}

}  // namespace
}  // namespace mete::cli
