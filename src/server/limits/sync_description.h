// What is told of syncs, in the same words over RESP and HTTP and by `mete sync --json`.
#pragma once

#include <vector>

#include "server/limits/limit_fields.h"
#include "sync/report.h"

namespace mete::server {

// Of a run that has ended, or, as far as that is known, of one that has not.
std::vector<LimitField> describe_report(const sync::Report& report);
// With its number and its state in front.
std::vector<LimitField> describe_run(const sync::RunRecord& record);
// A plan that runs by itself, or on demand; times are empty where there are none.
std::vector<LimitField> describe_sync(const sync::PlanStatus& status);

// The member "differences" of a report, into an object that is open.
void write_differences(const sync::Report& report, wire::JsonWriter& writer);

}  // namespace mete::server
