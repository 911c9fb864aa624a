// Civil periods in SQL (sql/020_calendar.sql) are those of the library (src/calendar), to the second.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "calendar/calendar.h"
#include "calendar/zone.h"
#include "support/postgres_server.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using civil::Calendar;
using support::PostgresServer;

constexpr std::int64_t kFirst = 978'307'200;   // 2001-01-01
constexpr std::int64_t kLast = 4'102'444'800;  // 2100-01-01

// Gaps and repetitions at midnight, of half an hour, of two hours, of a whole day, every year around Ramadan, in
// winter.
const char* const kOddZones[] = {
    "Africa/Cairo",     "Africa/Casablanca", "America/Asuncion",    "America/Havana",  "America/Nuuk",
    "America/Santiago", "America/Sao_Paulo", "America/St_Johns",    "Asia/Amman",      "Antarctica/Troll",
    "Asia/Beirut",      "Asia/Gaza",         "Asia/Kathmandu",      "Asia/Pyongyang",  "Asia/Tehran",
    "Atlantic/Azores",  "Europe/Berlin",     "Australia/Lord_Howe", "Europe/Dublin",   "Pacific/Apia",
    "Pacific/Chatham",  "Pacific/Fakaofo",   "Pacific/Kiritimati",  "Pacific/Norfolk", "UTC",
};

struct Spec {
  Unit unit;
  const char* name;
  int anchor;  // 0: none
};
constexpr Spec kSpecs[] = {
    {Unit::kHour, "hour", 0},   {Unit::kDay, "day", 0},      {Unit::kWeek, "week", 0}, {Unit::kWeek, "week", 7},
    {Unit::kMonth, "month", 0}, {Unit::kMonth, "month", 31}, {Unit::kYear, "year", 0}, {Unit::kYear, "year", 229},
};

struct Question {
  std::string zone;
  Spec spec;
  std::int64_t at_us;
};

// The odd zones, and some of all others that both sides know.
std::vector<std::string> zones_of(const PostgresServer& postgres) {
  std::vector<std::string> zones(std::begin(kOddZones), std::end(kOddZones));
  constexpr std::size_t kOthers = 40;
  const auto known = postgres.query("select name from pg_timezone_names where name ~ '^[A-Z][a-z]+/' order by name");
  for (std::size_t i = 0; i < kOthers; ++i) {
    const std::string& name = known[i * known.size() / kOthers][0];
    if (civil::load_zone(name)) zones.push_back(name);
  }
  return zones;
}

// Changes of a zone's clock between kFirst and kLast.
std::vector<std::int64_t> changes_of(const std::string& name) {
  const auto zone = civil::load_zone(name).value();
  std::vector<std::int64_t> changes;
  for (std::int64_t at = kFirst; at < kLast;) {
    at = zone->stretch_at(std::chrono::sys_seconds(std::chrono::seconds(at))).end.time_since_epoch().count();
    if (at < kLast) changes.push_back(at);
  }
  return changes;
}

void add_questions(const std::string& zone, std::mt19937_64& random, std::vector<Question>& questions) {
  const std::vector<std::int64_t> changes = changes_of(zone);
  const auto number = [&random](std::int64_t lowest, std::int64_t highest) {
    return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random);
  };
  for (const Spec& spec : kSpecs) {
    std::vector<std::int64_t> instants;
    for (int i = 0; i < 4; ++i) instants.push_back(number(kFirst, kLast));
    for (int i = 0; i < 6 && !changes.empty(); ++i) {
      const std::int64_t change = changes[static_cast<std::size_t>(number(0, std::ssize(changes) - 1))];
      for (const std::int64_t distance :
           {number(-3600, -1), std::int64_t{-1}, std::int64_t{0}, number(1, 3600), number(-90'000, 90'000)}) {
        instants.push_back(change + distance);
      }
    }
    for (const std::int64_t at : instants) questions.push_back({zone, spec, at * 1'000'000 + number(0, 999'999)});
  }
}

std::string query_of(const std::vector<Question>& questions) {
  std::string units;
  std::string zones;
  std::string anchors;
  std::string instants;
  for (const Question& question : questions) {
    const char* const comma = units.empty() ? "" : ",";
    units += comma + std::string(question.spec.name);
    zones += comma + question.zone;
    anchors += comma + (question.spec.anchor == 0 ? "null" : std::to_string(question.spec.anchor));
    instants += comma + std::to_string(question.at_us);
  }
  return "select p.start_us, p.end_us from unnest('{" + units + "}'::text[], '{" + zones + "}'::text[], '{" + anchors +
         "}'::integer[], '{" + instants +
         "}'::bigint[]) with ordinality u (unit, zone, anchor, at_us, i), "
         "mete_private._period(u.unit, u.zone, u.anchor, u.at_us) p order by u.i";
}

TEST(SqlCalendar, PeriodsAreTheLibrarys) {
  const PostgresServer& postgres = support::shared_postgres();
  std::mt19937_64 random(20);
  std::vector<Question> questions;
  for (const std::string& zone : zones_of(postgres)) add_questions(zone, random, questions);
  ASSERT_GT(questions.size(), 8'000U);
  Connection connection = must_open(postgres.url());
  const auto rows = connection.run_text(query_of(questions), net::Deadline::in(std::chrono::minutes(2)));
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), questions.size());
  int wrong = 0;
  for (std::size_t i = 0; i < questions.size() && wrong < 20; ++i) {
    const Question& question = questions[i];
    const auto calendar =
        Calendar::make({.unit = question.spec.unit, .zone = question.zone, .anchor = question.spec.anchor}).value();
    const auto span = calendar.span_at(Instant::from_ns(static_cast<std::uint64_t>(question.at_us) * 1000));
    const auto expected = std::pair(span.start.ns() / 1000, span.end.ns() / 1000);
    const auto found = std::pair(static_cast<std::uint64_t>(rows->amount(i, 0, "the period").value()),
                                 static_cast<std::uint64_t>(rows->amount(i, 1, "the period").value()));
    EXPECT_EQ(found, expected) << question.spec.name << " " << question.spec.anchor << " in " << question.zone << " at "
                               << question.at_us;
    if (found != expected) ++wrong;
  }
}

}  // namespace
}  // namespace mete::store::postgres
