#include "store/postgres/event_months.h"

#include <chrono>

#include "base/try.h"
#include "store/postgres/session.h"

namespace mete::store::postgres {

namespace {

constexpr int kMonths = 4;

// 2026-11, with any sign between.
std::string written(const std::chrono::year_month& month, char sign) {
  const std::string number = std::to_string(100 + static_cast<unsigned>(month.month()));
  return std::to_string(static_cast<int>(month.year())) + sign + number.substr(1);
}

std::string start_of(const std::chrono::year_month& month) { return "'" + written(month, '-') + "-01 00:00+00'"; }

// Attaching does not keep others from the table, as creating it in its place would. Whoever is in the way is not waited
// for long: there is time.
std::string making(const EventMonth& month) {
  return "begin; set local lock_timeout = '2s'; create table " + month.table +
         " (like mete.events including all); alter table mete.events attach partition " + month.table +
         " for values from (" + month.from + ") to (" + month.to + "); commit";
}

}  // namespace

std::vector<EventMonth> event_months(Instant now, int count) {
  using std::chrono::floor;
  const auto day = floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(now.ns() / 1'000'000'000)));
  const std::chrono::year_month_day date(day);
  std::chrono::year_month month = date.year() / date.month();
  std::vector<EventMonth> months;
  for (int i = 0; i < count; ++i) {
    const std::chrono::year_month next = month + std::chrono::months(1);
    months.push_back({"mete.events_" + written(month, '_'), start_of(month), start_of(next)});
    month = next;
  }
  return months;
}

Result<int> make_event_months(Connection& connection, const net::Deadline& deadline) {
  const auto owner = connection.run_text(
      "select pg_catalog.pg_has_role(session_user, relowner, 'usage'), "
      "(extract(epoch from clock_timestamp()) * 1000000)::bigint from pg_catalog.pg_class where oid = "
      "to_regclass('mete.events')",
      deadline);
  if (!owner) return to_error(owner.error());
  constexpr std::string_view kWhose = "mete.events";
  if (owner->size() == 0 || !TRY(owner->boolean(0, 0, kWhose))) return 0;
  const Instant now = Instant::from_ns(TRY(owner->micros(0, 1, kWhose)) * 1000);
  int made = 0;
  for (const EventMonth& month : event_months(now, kMonths)) {
    const auto there = connection.run_text("select to_regclass('" + month.table + "') is not null", deadline);
    if (!there) return to_error(there.error());
    if (TRY(there->boolean(0, 0, kWhose))) continue;
    if (connection.run_text(making(month), deadline)) {
      ++made;
    } else if (!connection.is_lost()) {
      (void)connection.run_text("rollback", deadline);
    }
  }
  return made;
}

}  // namespace mete::store::postgres
