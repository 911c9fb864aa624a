// Migration: one step from one version of the schema `mete` to the next, and back where nothing is lost by that.
//
// The versions are 1, 2, 3, … without a gap. A migration that was ever released stays as it is: what changes is the
// next one. mete.schema_version, which says what is installed, and the schema itself are the migrator's (migrate.h).
// Thread safety: constants.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mete::store::postgres {

struct Migration {
  int version = 0;
  std::string_view name = {};
  std::string_view up = {};          // statements, each with its ';'
  std::string_view down = {};        // empty: it cannot be undone
  std::string_view check_down = {};  // what `down` would lose, as a text for each row of the last statement
};

std::span<const Migration> migrations();

// All that brings an empty database to the version, by default the last one, for whoever wants to read it first, or to
// run it by hand.
std::string migration_text(std::optional<int> to);
std::string migration_text(std::span<const Migration> list, int to);

// What the migrator does around a migration; also in the text above.
inline constexpr std::string_view kBeginSql =
    "begin isolation level read committed;\n"
    "set local statement_timeout = 0;\n"
    "set local search_path = pg_catalog, pg_temp;  -- nobody else's operators\n"
    "select pg_advisory_xact_lock(1835365477);  -- one at a time\n";
inline constexpr std::string_view kMakeSchemaSql =
    "create schema if not exists mete;\n"
    "create table mete.schema_version (\n"
    "  version integer primary key,\n"
    "  name text not null,\n"
    "  applied_at timestamptz not null default clock_timestamp()\n"
    ");\n";
// That the migration is installed.
std::string note_sql(const Migration& migration);

}  // namespace mete::store::postgres
