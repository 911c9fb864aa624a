// Calendar: the civil periods (hour, day, week, month, year) of one time zone, as spans of absolute time.
//
// A day, week, month or year starts at the first instant whose local date and time is not before the boundary's: where
// a clock change skips the boundary, just after the gap; where it repeats the boundary, the first time. A local day
// that does not exist is no period at all. An hour starts whenever the local clock shows a full hour, so a repeated
// hour is two periods.
//
// A Calendar is a value that shares its zone's rules. span_at() does no I/O and takes some microseconds at most:
// callers on a hot path keep the last span. Thread safety: const calls from any thread.
//
// The namespace is `civil`, for mete::calendar() is the function that begins a limit's sentence.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <memory>
#include <string_view>

#include "base/span.h"
#include "calendar/period.h"

namespace mete::civil {

class Calendar {
 public:
  struct Spec {  // NOLINT(clang-analyzer-optin.performance.Padding): in the order in which it is said
    Unit unit = Unit::kMonth;
    std::string_view zone = "UTC";
    int anchor = 0;  // 0: the default, that is Monday, the 1st, 1 January
  };

  // Refuses an unknown zone, and an anchor that the unit does not have.
  static Result<Calendar> make(const Spec& spec);

  // The period that holds `at`: start <= at < end. The period that the epoch lies in starts with it, and the last one
  // ends at Instant::max(), which is the end of time and in no period itself.
  [[nodiscard]] base::Span span_at(Instant at) const;

 private:
  Calendar(Recurrence recurrence, std::shared_ptr<const Zone> zone);

  Recurrence recurrence_;
  std::shared_ptr<const Zone> zone_;
};

}  // namespace mete::civil
