// `mete sync`.
#include <algorithm>
#include <ostream>

#include "base/errors.h"
#include "base/try.h"
#include "cli/commands.h"
#include "cli/frame/progress_bar.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "cli/serving/config_options.h"
#include "server/running/startup.h"
#include "sync/fields.h"
#include "sync/postgres_source.h"
#include "sync/run.h"
#include "wire/answers.h"
#include "wire/json.h"

namespace mete::cli {

namespace {

constexpr std::string_view kAskServer =
    "ask the server itself: LIMIT SYNC NAME, or POST /v1/limits/NAME/sync, starts a sync there";

Result<server::Startup> open_store(const Invocation& invocation, Console& console) {
  ProgressBar bar(console);
  server::Config config;
  server::StartHooks hooks;
  hooks.on_config = [&](const server::Config& loaded) { config = loaded; };
  hooks.on_load = [&](const store::LoadProgress& progress) {
    bar.show("loading", progress.bytes_done, progress.bytes_total);
  };
  auto startup = server::prepare_start(config_sources(invocation, console), hooks);
  if (!startup) {
    const bool is_in_use = startup.error().code == ErrorCode::kUnavailable && !config.data_directory().empty();
    if (is_in_use) startup.error().message += "; or " + std::string(kAskServer);
    return startup;
  }
  if (!config.is_memory_only()) return startup;
  return base::invalid("what is used is in the memory of the server alone: " + std::string(kAskServer));
}

// The plans that are meant: those that are named, or all.
Result<std::vector<sync::Plan>> choose(const std::vector<server::FileSync>& all,
                                       const std::vector<std::string>& names) {
  if (all.empty()) {
    return base::invalid("the configuration has no [[sync]]; see 'mete help configuration'");
  }
  std::vector<sync::Plan> chosen;
  for (const std::string& name : names) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const server::FileSync& each) { return each.plan.limit == name; });
    if (found == all.end()) {
      return base::invalid("the configuration has no [[sync]] for limit " + shown(name));
    }
    chosen.push_back(found->plan);
  }
  if (!names.empty()) return chosen;
  for (const server::FileSync& each : all) chosen.push_back(each.plan);
  return chosen;
}

sync::Report run_plan(const sync::Plan& plan, const sync::RunOptions& options, store::Store& store, Console& console) {
  auto source = sync::make_postgres_source(plan);
  if (!source) return {.limit = plan.limit, .options = options, .message = source.error().message};
  ProgressBar bar(console);
  sync::RunHooks hooks;
  hooks.on_progress = [&](const sync::Progress& progress) {
    bar.show(to_string(progress.stage), progress.total == 0 ? 0 : progress.done, progress.total,
             count_text(progress.done) + " keys");
  };
  return sync::run_sync(plan, options, store, **source, hooks);
}

void print_differences(const sync::Report& report, std::ostream& out) {
  if (report.largest.empty()) return;
  Table table({{"KEY"}, {"USED", Table::kRight}, {"TRUTH", Table::kRight}, {"CHANGE", Table::kRight}});
  for (const sync::Difference& each : report.largest) {
    const std::string sign = each.change() > 0 ? "+" : "";
    table.add(
        {printable(each.key), number_text(each.used), number_text(each.truth), sign + number_text(each.change())});
  }
  out << table.text();
  const std::uint64_t rest = report.differing_keys - report.largest.size();
  if (rest > 0) out << "and " << count_text(rest, "key") << " more\n";
}

void print_report(const sync::Report& report, Console& console) {
  if (report.options.is_dry_run) print_differences(report, console.out);
  if (report.outcome != sync::Outcome::kDone) {
    console.error << "mete: " << shown(report.limit) << ": " << escaped(report.message) << '\n';
    return;
  }
  console.out << shown(report.limit) << ": " << count_text(report.keys, "key") << ", ";
  if (report.missing_keys > 0) console.out << count_text(report.missing_keys) << " missing, ";
  console.out << count_text(report.differing_keys) << " differing by "
              << count_text(static_cast<std::uint64_t>(report.drift), "unit") << " in all; "
              << (report.options.is_dry_run ? "nothing" : count_text(report.changed_keys, "key")) << " changed, in "
              << duration_text(report.took.ms()) << '\n';
}

void print_report_json(const sync::Report& report, Console& console) {
  print_json(console, [&](wire::JsonWriter& writer) {
    wire::write_members(writer.member("outcome", to_string(report.outcome)), report);
    wire::write_list(writer, "differences", report.largest);
  });
}

int status_of(sync::Outcome outcome) {
  if (outcome == sync::Outcome::kDone) return kExitDone;
  return outcome == sync::Outcome::kFailed ? kExitError : kExitNo;
}

Result<int> run_sync_command(const Invocation& invocation, Console& console) {
  const auto startup = TRY(open_store(invocation, console));
  const auto plans = TRY(choose(startup.config.syncs, invocation.arguments));
  const sync::RunOptions options{.is_dry_run = invocation.is_on("dry-run"), .is_forced = invocation.is_on("force")};
  int status = kExitDone;
  for (const sync::Plan& plan : plans) {
    const sync::Report report = run_plan(plan, options, *startup.store, console);
    if (invocation.is_on("json")) {
      print_report_json(report, console);
    } else {
      print_report(report, console);
    }
    status = std::max(status, status_of(report.outcome));
  }
  return status;
}

}  // namespace

Command sync_command() {
  return {
      .name = "sync",
      .summary = "Bring usage to what a source of truth says, here and now",
      .description = {"Runs the [[sync]] of the configuration, as the server does by schedule: asks the query, and "
                      "adds to what each key has used what it differs by. What is held stays held, and what happens "
                      "meanwhile is kept.",
                      "The store must be one that several can use, or one that no server is using at the moment: a "
                      "running server is asked with LIMIT SYNC, or with POST /v1/limits/NAME/sync."},
      .arguments = {{.name = "LIMIT",
                     .help = "The limits; all that have a [[sync]] where none is given",
                     .is_optional = true,
                     .is_multiple = true}},
      .options = config_options({flag("dry-run", "Tell what would change, and change nothing"),
                                 flag("force", "Change more than max_change allows"),
                                 flag("json", "Print a line of JSON for each limit")}),
      .examples = {{"mete sync storage --config /etc/mete/mete.toml --dry-run", "See what would change"},
                   {"mete sync --config /etc/mete/mete.toml", "All syncs of a file"}},
      .statuses = {{kExitNo, "nothing was changed: more would change than max_change allows, or another is at it"}},
      .run = run_sync_command};
}

}  // namespace mete::cli
