// Periods of a zone: the hours its clocks show, and the days, weeks, months and years of its dates.
//
// The periods of a recurrence tile time: each starts where the one before it ends, none is empty, and none begins
// twice. Pure functions of their arguments. Thread safety: from any thread.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <chrono>

namespace mete::civil {

class Zone;

// Half open, like a stretch.
struct Period {
  std::chrono::sys_seconds start;
  std::chrono::sys_seconds end;

  bool operator==(const Period&) const = default;
};

// How periods follow each other, and where they start:
//
//     hour, day   no anchor
//     week        ISO weekday, 1 (Monday) to 7
//     month       day of the month; the last day of a month that is shorter
//     year        month_day(month, day)
struct Recurrence {
  Unit unit;
  int anchor;

  // An anchor of 0 is the default: Monday, the 1st, 1 January. Refuses an anchor that the unit does not have.
  static Result<Recurrence> make(Unit unit, int anchor);
};

// The period that holds `at`: start <= at < end. Expects an anchor that the unit has.
Period period_at(const Zone& zone, const Recurrence& recurrence, std::chrono::sys_seconds at);

}  // namespace mete::civil
