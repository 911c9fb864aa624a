#include "store/postgres/migrations.h"

#include "base/check.h"
#include "store/postgres/sql_texts.h"

namespace mete::store::postgres {

namespace {

// Locked first, so that nothing comes in between the look and the end.
constexpr std::string_view kWhatIsThere = R"sql(
  lock table mete.limits, mete.meters, mete.operations, mete.events in access exclusive mode;
  select what from (
    select 1 as place, count(*) || ' limits' as what, count(*) as number from mete.limits where not is_dropped
    union all select 2, count(*) || ' meters', count(*) from mete.meters
    union all select 3, count(*) || ' operations', count(*) from mete.operations
    union all select 4, count(*) || ' events', count(*) from mete.events
  ) as found where number > 0 order by place
)sql";

constexpr Migration kMigrations[] = {
    {.version = 1,
     .name = "tables and functions",
     .up = kSchemaSql,
     .down = "drop schema mete cascade",
     .check_down = kWhatIsThere},
};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

std::string migration_text(std::optional<int> to) {
  return migration_text(migrations(), to.value_or(static_cast<int>(migrations().size())));
}

std::string migration_text(std::span<const Migration> list, int to) {
  CHECK(to >= 0 && static_cast<std::size_t>(to) <= list.size());
  std::string text(kBeginSql);
  text += '\n';
  text += kMakeSchemaSql;
  for (const Migration& migration : list.first(static_cast<std::size_t>(to))) {
    text += "\n-- Version " + std::to_string(migration.version) + ": " + std::string(migration.name) + "\n\n";
    text += migration.up;
    text += "\n" + note_sql(migration);
  }
  return text + "\ncommit;\n";
}

std::string note_sql(const Migration& migration) {
  return "insert into mete.schema_version (version, name) values (" + std::to_string(migration.version) + ", '" +
         std::string(migration.name) + "');\n";
}

}  // namespace mete::store::postgres
