// The partitions of mete.events: one for each month, made ahead of time. It is done from outside, since the functions
// of the schema have no dynamic SQL. What has no partition of its own lies in mete.events_other, and nothing is lost.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <string>
#include <vector>

#include "store/postgres/connection.h"

namespace mete::store::postgres {

struct EventMonth {
  std::string table;  // mete.events_2026_11
  std::string from;   // '2026-11-01 00:00+00'
  std::string to;

  bool operator==(const EventMonth&) const = default;
};

// The month of an instant, by UTC, and those after it. Pure.
std::vector<EventMonth> event_months(Instant now, int count);

// Makes those that are missing, of the present month by the server's clock and the next three, and tells how many that
// was. None, if this role does not own the table. One whose events lie elsewhere already is left out.
Result<int> make_event_months(Connection& connection, const net::Deadline& deadline);

}  // namespace mete::store::postgres
