// What of the schema stands beside its tables, and can be compared with what this program would make, and made again:
// the functions (sql/functions), and roles and rights (sql/rights).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/migrate.h"

namespace mete::store::postgres {

// A function as its text makes it.
struct StandingFunction {
  std::string name = {};  // with its schema; there is one of a name
  std::string source = {};
  bool is_definer = false;                 // runs with the rights of its owner
  std::vector<std::string> settings = {};  // "search_path=pg_catalog, pg_temp"
};

// Of statements `create or replace function … language … as $$ … $$;`.
std::vector<StandingFunction> functions_in(std::string_view sql);

// A view as its text makes it.
struct StandingView {
  std::string name = {};  // with its schema
  std::string query = {};
};

// Of statements `create or replace view … with (security_barrier) as …;`.
std::vector<StandingView> views_in(std::string_view sql);

// The functions first: views call them, and rights are given to them.
std::span<const StandingPart> standing_parts();

}  // namespace mete::store::postgres
