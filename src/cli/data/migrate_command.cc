// `mete migrate`: the schema of Mete in a PostgreSQL.
#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/try.h"
#include "cli/commands.h"
#include "cli/data/migrate_redis.h"
#include "store/postgres/event_months.h"
#include "store/postgres/migrate.h"
#include "store/postgres/url.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

constexpr Duration kConnectMax = std::chrono::seconds(10);  // the URL's own is for decisions

// The last one, if there is nothing about it on the command line.
Result<std::optional<int>> wanted_version(const Invocation& invocation) {
  const auto given = invocation.given("to");
  if (!given) return std::nullopt;
  const auto number = wire::parse_integer(*given);
  const auto last = static_cast<std::int64_t>(store::postgres::migrations().size());
  if (!number || *number < 0 || *number > last) {
    return base::invalid("--to is a version, 0 (nothing installed) to " + std::to_string(last) + ", and not " +
                         wire::quote(*given));
  }
  return static_cast<int>(*number);
}

Result<int> print(const Invocation& invocation, Console& console, std::optional<int> to) {
  if (!invocation.argument(0).empty()) {
    return usage_error(invocation, "--print shows what an empty database gets; it takes no URL");
  }
  if (to == 0) return usage_error(invocation, "--print shows how a version is installed; 0 is none");
  console.out << store::postgres::migration_text(to);
  return kExitDone;
}

// Exit status 1 if there is something to do.
Result<int> check_schema(Console& console, store::postgres::Connection& connection) {
  const int installed = TRY(store::postgres::installed_version(connection));
  const auto last = static_cast<int>(store::postgres::migrations().size());
  std::vector<std::string> wrong;
  if (installed == last) wrong = TRY(store::postgres::what_is_wrong(connection));
  for (const std::string& what : wrong) console.out << what << '\n';
  console.out << "the schema mete at " << connection.address();
  if (installed == 0) {
    console.out << " is not installed\n";
  } else {
    console.out << " is at version " << installed << (installed < last ? " of " + std::to_string(last) : "") << '\n';
  }
  return installed == last && wrong.empty() ? kExitDone : kExitNo;
}

Result<int> run_migrate(const Invocation& invocation, Console& console) {
  if (is_redis_url(invocation.argument(0))) {
    const auto to = wire::parse_integer(invocation.given("to").value_or(""));
    if (invocation.is_on("print")) return usage_error(invocation, "--print shows the SQL of a PostgreSQL");
    const auto version = to ? std::optional(static_cast<int>(*to)) : std::nullopt;
    return migrate_redis(invocation.argument(0), {.to = version, .only_checks = invocation.is_on("check")}, console);
  }
  const auto to = wanted_version(invocation);
  if (!to.has_value()) return usage_error(invocation, to.error().message);
  if (invocation.is_on("print")) return print(invocation, console, *to);
  if (invocation.argument(0).empty()) return usage_error(invocation, "the argument URL is missing");
  const auto url = TRY(store::postgres::parse_url(invocation.argument(0)));
  auto connection = store::postgres::Connection::open(url.libpq, net::Deadline::in(kConnectMax));
  if (!connection) return fail(console, "cannot connect: " + connection.error().message);
  if (invocation.is_on("check")) return check_schema(console, *connection);
  const auto report = TRY(store::postgres::migrate(*connection, *to));
  if (report.to != 0) {
    TRY(store::postgres::make_event_months(*connection, net::Deadline::in(kConnectMax)));
  }
  for (const auto& step : report.steps) {
    console.out << "version " << step.version << ", " << step.name << (step.is_up ? ": installed\n" : ": taken back\n");
  }
  for (const std::string& what : report.repaired) console.out << "repaired: " << what << '\n';
  console.out << "the schema mete at " << connection->address();
  if (report.to == 0) {
    console.out << (report.steps.empty() ? " is not installed\n" : " is gone\n");
  } else {
    console.out << " is at version " << report.to << (report.steps.empty() ? " already\n" : "\n");
  }
  return kExitDone;
}

}  // namespace

Command migrate_command() {
  return {
      .name = "migrate",
      .summary = "Install or upgrade the schema of Mete in a PostgreSQL, or its functions in a Redis",
      .description =
          {"Makes the schema 'mete' with its tables and functions, or brings it to a later version, in one "
           "transaction: all of it is done, or nothing. Where it is done already nothing changes, and several may run "
           "at once. It needs PostgreSQL 13 or later, a database whose encoding is UTF8, and a role that may create "
           "schemas there. The roles mete_use and mete_admin are created if they are missing, and stay if the schema "
           "goes. A dump has no roles: after it was restored elsewhere this command makes roles and rights again, and "
           "functions that somebody has changed or dropped.",
           "In a Redis 7, redis://…, it installs the function library 'mete', which any client calls by FCALL: or "
           "checks "
           "it, and replaces one of an earlier version, or one that was changed.",
           "A version is left for one before only where nothing is lost by that. A password is better kept out of the "
           "command line: PGPASSWORD and ~/.pgpass have it for psql, and for this command."},
      .arguments = {{.name = "URL",
                     .help = "The database, as in postgres://user@host:5432/database, or redis://host:6379; not with "
                             "--print",
                     .is_optional = true}},
      .options = {{"to", ArgumentType::kInteger, "VERSION",
                   "The version to go to, instead of the last one; 0 takes the schema away"},
                  flag("check",
                       "Tell which version is installed and what is wrong with functions, roles and rights, and change "
                       "nothing; "
                       "exit status 1 if there is something to do"),
                  flag("print", "Print the SQL that an empty database gets, and do nothing")},
      .examples = {{"mete migrate postgres://admin@db.example/shop", "Install the schema, or upgrade it"},
                   {"mete migrate redis://10.0.0.5", "Install the functions in Redis, or upgrade them"},
                   {"mete migrate --print | less", "Read what it does first"}},
      .statuses = {{kExitNo, "with --check: there is something to do"}},
      .run = run_migrate};
}

}  // namespace mete::cli
