// Periods of a zone: the hours its clocks show, and the days, weeks, months and years of its dates.
//
// The periods of a recurrence tile time: each starts where the one before it ends, none is empty, and none begins
// twice. Pure functions of their arguments. Thread safety: from any thread.
#pragma once

#include <mete/limit.h>

#include <chrono>

#include "calendar/zone.h"

namespace mete::civil {

// Half open, like a stretch.
struct Period {
  std::chrono::sys_seconds start;
  std::chrono::sys_seconds end;

  bool operator==(const Period&) const = default;
};

// How periods follow each other. The anchor is an ISO weekday, a day of the month or month_day(month, day); an hour and
// a day have none.
struct Recurrence {
  Unit unit;
  int anchor;
};

// The period that holds `at`: start <= at < end. Expects an anchor that the unit has.
Period period_at(const Zone& zone, const Recurrence& recurrence, std::chrono::sys_seconds at);

}  // namespace mete::civil
