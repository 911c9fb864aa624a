// Differences: what a ledger says must change, added up. Pure.
#pragma once

#include <mete/result.h>

#include <optional>
#include <vector>

#include "sync/ledger.h"
#include "sync/plan.h"
#include "sync/report.h"

namespace mete::sync {

// What is to be added to what the key has used; none: it is left alone.
std::optional<Amount> change_of(const Ledger::Entry& entry, Missing missing);

// Tells the report how many keys differ, by how much, and which of them most. An error: the sums are too large to tell.
Result<void> add_up(const Ledger& ledger, Missing missing, Report& report);

// Why so much must not change; none if it may.
std::optional<std::string> why_refused(const Plan& plan, const Report& report);

}  // namespace mete::sync
