// Migrations: the steps from one version of the schema `mete` to the next, and migrate(), which takes them.
#pragma once

#include <mete/result.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/connection.h"

namespace mete::store::postgres {

// What `up` of the last version has as well, and may be made again at any time: functions, and roles and rights.
struct StandingPart {
  std::string_view make = {};
  std::string_view check = {};  // a query for what is wrong with it: a text for each row
};

// One step from one version to the next, and back where nothing is lost by that.
//
// The versions are 1, 2, 3, … without a gap. A migration that was ever released stays as it is: what changes is the
// next one. mete.schema_version, which says what is installed, and the schema itself are the migrator's.
struct Migration {
  int version = 0;
  std::string_view name = {};
  std::string_view up = {};                     // statements, each with its ';'
  std::string_view down = {};                   // empty: it cannot be undone
  std::string_view check_down = {};             // what `down` would lose, as a text for each row of the last statement
  std::span<const StandingPart> standing = {};  // of the last version
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

inline constexpr int kServerVersionMin = 130000;
inline constexpr Duration kMigrationMax = std::chrono::minutes(30);  // whoever holds locks meanwhile is waited for

struct MigrationReport {
  struct Step {
    int version = 0;
    std::string name = {};
    bool is_up = true;

    bool operator==(const Step&) const = default;
  };
  int from = 0;  // 0: nothing was installed
  int to = 0;
  std::vector<Step> steps = {};            // in the order in which they were done
  std::vector<std::string> repaired = {};  // what was wrong with functions, roles and rights
};

// Brings the schema to a version, in one transaction: all of it is done, or nothing. Two that run at once are safe: the
// second waits, and finds it done. Thread safety: as the connection.
// `to`: by default the last one; 0 takes away everything. Nothing is changed by an error, which says what to do; a
// version is left for one before only where nothing is lost by that.
Result<MigrationReport> migrate(Connection& connection, std::optional<int> to);
Result<MigrationReport> migrate(Connection& connection, std::span<const Migration> list, std::optional<int> to);

// What is wrong with the functions, roles and rights of the last version, which is installed: a text for each, and
// nothing changed.
Result<std::vector<std::string>> what_is_wrong(Connection& connection);

// 0: none.
Result<int> installed_version(Connection& connection);

}  // namespace mete::store::postgres
