#include "store/postgres/migrate.h"

#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "store/postgres/sql_texts.h"
#include "store/postgres/standing.h"

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

constexpr std::string_view kDropSql = "drop schema mete cascade; drop schema if exists mete_private cascade";

constexpr Migration kFirst = {
    .version = 1, .name = "tables and functions", .up = kVersion1Sql, .down = kDropSql, .check_down = kWhatIsThere};

// Functions that were replaced cannot be brought back one by one: so the way down is an empty schema of the version
// before.
std::string anew(std::span<const Migration> list) {
  std::string text = std::string(kDropSql) + ";\n" + std::string(kMakeSchemaSql);
  for (const Migration& migration : list) text += "\n" + std::string(migration.up) + "\n" + note_sql(migration);
  return text;
}

std::span<const Migration> all_migrations() {
  static const std::string kFirstAnew = anew({&kFirst, 1});
  static const Migration kSecond = {.version = 2,
                                    .name = "exact sliding windows",
                                    .up = kVersion2Sql,
                                    .down = kFirstAnew,
                                    .check_down = kWhatIsThere};
  static const Migration kTwo[] = {kFirst, kSecond};
  static const std::string kSecondAnew = anew(kTwo);
  static const Migration kThird = {.version = 3,
                                   .name = "commits and cancels again",
                                   .up = kVersion3Sql,
                                   .down = kSecondAnew,
                                   .check_down = kWhatIsThere};
  static const Migration kThree[] = {kFirst, kSecond, kThird};
  static const std::string kThirdAnew = anew(kThree);
  static const std::string kFourthUp = std::string(kVersion4Sql) + std::string(kFunctionsSql) + std::string(kRightsSql);
  static const Migration kList[] = {kFirst,
                                    kSecond,
                                    kThird,
                                    {.version = 4,
                                     .name = "a schema for private functions",
                                     .up = kFourthUp,
                                     .down = kThirdAnew,
                                     .check_down = kWhatIsThere,
                                     .standing = standing_parts()}};
  return kList;
}

Error migration_error(const SqlError& error, const std::string& what) {
  std::string message = what + ": " + error.message;
  if (!error.hint.empty()) {
    message += "; " + error.hint;
  } else if (error.state == kNoPrivilege) {
    message += "; run it as a superuser, or as the owner of the database";
  }
  return {error.is_lost ? ErrorCode::kUnavailable : ErrorCode::kInvalid, std::move(message)};
}

std::string title(const Migration& migration) {
  return "version " + std::to_string(migration.version) + " (" + std::string(migration.name) + ")";
}

std::vector<std::string> texts_of(const Rows& rows) {
  std::vector<std::string> texts;
  for (std::size_t row = 0; row < rows.size(); ++row) texts.emplace_back(rows.text(row, 0));
  return texts;
}

// One migration of a database, inside its transaction.
class Migrator {
 public:
  Migrator(Connection& connection, std::span<const Migration> list) : connection_(connection), list_(list) {
    for (std::size_t i = 0; i < list.size(); ++i) CHECK(list[i].version == static_cast<int>(i) + 1);
  }

  Result<MigrationReport> go(std::optional<int> to) {
    auto installed = TRY(begin());
    report_.from = installed;
    report_.to = to.value_or(last());
    if (installed == 0 && report_.to > 0) {
      TRY(make_schema());
    }
    for (int version = installed + 1; version <= report_.to; ++version) {
      TRY(go_up(at(version)));
    }
    for (int version = installed; version > report_.to; --version) {
      TRY(go_down(at(version)));
    }
    if (report_.to > 0) {
      for (const StandingPart& part : at(report_.to).standing) TRY(repair(part));
    }
    TRY(run("commit", "the changes were not committed"));
    return std::move(report_);
  }

 private:
  Result<void> repair(const StandingPart& part) {
    const std::string failure = "functions, roles or rights cannot be repaired, and nothing was changed";
    const auto wrong = TRY(run(std::string(part.check), failure));
    if (wrong.size() == 0) return {};
    TRY(run(std::string(part.make), failure));
    for (std::string& what : texts_of(wrong)) report_.repaired.push_back(std::move(what));
    return {};
  }

  [[nodiscard]] int last() const { return static_cast<int>(list_.size()); }
  [[nodiscard]] const Migration& at(int version) const { return list_[static_cast<std::size_t>(version) - 1]; }

  Result<Rows> run(const std::string& sql, const std::string& what) {
    auto rows = connection_.run_text(sql, deadline_);
    if (!rows) return migration_error(rows.error(), what);
    return std::move(*rows);
  }

  // Locks, and returns the version that is installed.
  Result<int> begin() {
    TRY(run(std::string(kBeginSql), "cannot begin"));
    auto encoding = TRY(run("show server_encoding", "cannot read the encoding of the database"));
    if (encoding.text(0, 0) != "UTF8") {
      return base::invalid("the encoding of this database is " + std::string(encoding.text(0, 0)) +
                           "; Mete needs one that is UTF8: create database … encoding 'UTF8' template template0");
    }
    auto installed = installed_version(connection_);
    if (installed && *installed > last()) {
      return base::invalid("the schema mete of this database is at version " + std::to_string(*installed) +
                           ", and this program knows them up to " + std::to_string(last()) +
                           "; use the program that installed it, or a later one");
    }
    return installed;
  }

  // The schema may be there, made by somebody who may do so; but not as somebody else's.
  Result<void> make_schema() {
    auto others =
        TRY(run("select count(*) from pg_catalog.pg_depend where refclassid = 'pg_catalog.pg_namespace'::regclass and "
                "refobjid = to_regnamespace('mete')",
                "cannot look at the schema mete"));
    if (TRY(others.integer(0, 0, "pg_depend")) > 0) {
      return base::invalid(
          "this database has a schema mete that is not Mete's: it has no table schema_version, and is not empty; "
          "rename it, or use another database");
    }
    TRY(run(std::string(kMakeSchemaSql), "cannot make the schema mete"));
    return {};
  }

  Result<void> go_up(const Migration& migration) {
    TRY(run(std::string(migration.up) + "\n" + note_sql(migration),
            title(migration) + " cannot be installed, and nothing was changed"));
    report_.steps.push_back({.version = migration.version, .name = std::string(migration.name), .is_up = true});
    return {};
  }

  Result<void> go_down(const Migration& migration) {
    const std::string failure = title(migration) + " cannot be taken back, and nothing was changed";
    if (migration.down.empty()) return base::invalid(failure + ": it cannot be undone without loss; restore a backup");
    if (!migration.check_down.empty()) {
      auto lost = TRY(run(std::string(migration.check_down), failure));
      std::string what;
      for (std::size_t row = 0; row < lost.size(); ++row) {
        what += (row == 0 ? "" : ", ") + std::string(lost.text(row, 0));
      }
      if (!what.empty()) return base::invalid(failure + ", since this would be lost: " + what);
    }
    // The note first: it may go with the schema.
    TRY(run("delete from mete.schema_version where version = " + std::to_string(migration.version) + ";\n" +
                std::string(migration.down),
            failure));
    report_.steps.push_back({.version = migration.version, .name = std::string(migration.name), .is_up = false});
    return {};
  }

  Connection& connection_;
  std::span<const Migration> list_;
  MigrationReport report_;
  const net::Deadline deadline_ = net::Deadline::in(kMigrationMax);
};

}  // namespace

std::span<const Migration> migrations() { return all_migrations(); }

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

Result<MigrationReport> migrate(Connection& connection, std::optional<int> to) {
  return migrate(connection, migrations(), to);
}

Result<MigrationReport> migrate(Connection& connection, std::span<const Migration> list, std::optional<int> to) {
  if (connection.server_version() < kServerVersionMin) {
    return base::invalid("this PostgreSQL is of version " + std::to_string(connection.server_version() / 10000) +
                         "; Mete needs " + std::to_string(kServerVersionMin / 10000) + " at least");
  }
  if (to && (*to < 0 || static_cast<std::size_t>(*to) > list.size())) {
    return base::invalid("there is no version " + std::to_string(*to) + "; there are 0 (nothing installed) to " +
                         std::to_string(list.size()));
  }
  auto report = Migrator(connection, list).go(to);
  // What has failed is as if it had never begun, whether this is heard or not.
  if (!report && !connection.is_lost()) (void)connection.run_text("rollback", net::Deadline::in(kMigrationMax));
  return report;
}

Result<std::vector<std::string>> what_is_wrong(Connection& connection) {
  std::vector<std::string> wrong;
  for (const StandingPart& part : migrations().back().standing) {
    const auto rows = connection.run_text(std::string(part.check), net::Deadline::in(kMigrationMax));
    // What is wrong so far may be why.
    if (!rows && !wrong.empty()) break;
    if (!rows) return migration_error(rows.error(), "cannot look at functions, roles and rights");
    for (std::string& what : texts_of(*rows)) wrong.push_back(std::move(what));
  }
  return wrong;
}

Result<int> installed_version(Connection& connection) {
  const auto deadline = net::Deadline::in(kMigrationMax);
  const std::string what = "cannot read the version of the schema mete";
  const auto table = connection.run_text("select to_regclass('mete.schema_version') is not null", deadline);
  if (!table) return migration_error(table.error(), what);
  if (!TRY(table->boolean(0, 0, "pg_class"))) return 0;
  const auto version = connection.run_text("select coalesce(max(version), 0) from mete.schema_version", deadline);
  if (!version) return migration_error(version.error(), what);
  return static_cast<int>(TRY(version->integer(0, 0, "mete.schema_version")));
}

}  // namespace mete::store::postgres
