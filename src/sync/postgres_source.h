// A PostgreSQL as the source of truth: one run of a plan's query, in a snapshot of its own.
//
// The lock is an advisory one, of a transaction that stays open on a connection of its own: so it works through a
// PgBouncer, ends with this process at the latest, and takes no snapshot before the store has been looked at.
#pragma once

#include <mete/result.h>

#include <memory>

#include "sync/plan.h"
#include "sync/source.h"

namespace mete::sync {

// Connects to nothing yet.
Result<std::unique_ptr<Source>> make_postgres_source(const Plan& plan);

// The query as it is sent: a second statement behind it would be a syntax error.
std::string query_text(std::string_view query);

}  // namespace mete::sync
