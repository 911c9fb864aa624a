// `mete verify` and `mete repair`.
#include <unistd.h>

#include <chrono>
#include <istream>
#include <ostream>

#include "base/time_text.h"
#include "base/try.h"
#include "cli/commands.h"
#include "cli/frame/progress_bar.h"
#include "cli/frame/text.h"
#include "journal/posix_file_system.h"
#include "store/embedded/data_reader.h"
#include "store/embedded/data_repair.h"

namespace mete::cli {

namespace {

// What there is, in a line.
std::string contents_text(const engine::Audit& audit, Instant as_of) {
  std::uint64_t meters = 0;
  for (const engine::LimitTally& tally : audit.limits) meters += tally.meters;
  return count_text(audit.limits.size(), "limit") + ", " + count_text(meters, "meter") + ", " +
         count_text(audit.open_holds, "open hold") + ", " + count_text(audit.ids, "id") + ", " +
         count_text(audit.counters + audit.quotas + audit.throttles, "key") + ", as of " + base::time_text(as_of);
}

std::string range_text(const journal::DamagedRange& range) {
  std::string text = range.file + ", byte " + std::to_string(range.from);
  if (range.to > range.from) text += " to " + std::to_string(range.to);
  return text + ": " + escaped(range.problem);
}

// What is gone with it.
std::string_view loss_of(const journal::DamagedRange& range) {
  if (range.file.starts_with("snapshot-")) return "what stood there is lost, unless a later record has it";
  if (range.file.starts_with("segment-")) return "what was done there is lost: takes, gives, holds, settlements";
  return "how far the journal was synced is not known; nothing is lost by that";
}

// --- verify ----------------------------------------------------------------------------------------------------------

std::vector<std::string> problems_of(store::LoadedData& data) {
  std::vector<std::string> problems;
  if (data.problem) {
    const auto salvaged = store::salvage_data(*data.view, data.view->directory());
    if (salvaged) {
      for (const journal::DamagedRange& range : salvaged->damage) problems.push_back(range_text(range));
    }
    // What ends the reading need not be damage.
    if (problems.empty()) problems.push_back(data.problem->message);
    return problems;
  }
  for (const engine::AuditProblem& problem : data.engine->audit(data.as_of).problems) {
    problems.push_back(escaped(problem.text));
  }
  return problems;
}

void print_whole(const store::LoadedData& data, std::ostream& out) {
  const engine::Audit audit = data.engine->audit(data.as_of);
  for (const engine::LimitTally& tally : audit.limits) {
    if (tally.above_capacity == 0) continue;
    out << "note: of '" << printable(tally.limit.name()) << "' " << count_text(tally.above_capacity, "meter")
        << " above the capacity, as forced takes and lowered amounts leave them\n";
  }
  if (data.recovered.cut) {
    out << "note: " << data.recovered.cut->file << " ends in " << count_text(data.recovered.cut->bytes, "byte")
        << " that were not acknowledged, or are just being written; they do not count\n";
  }
  out << "all whole: " << count_text(data.files.size(), "file") << ", "
      << count_text(data.recovered.snapshot.records + data.recovered.journal.records, "record") << ", "
      << contents_text(audit, data.as_of) << '\n';
}

Result<int> run_verify(const Invocation& invocation, Console& console) {
  journal::PosixFileSystem files;
  ProgressBar bar(console);
  const std::string directory = invocation.argument(0);
  auto data = store::load_data(files, directory, [&](const journal::Progress& progress) {
    bar.show("checking", progress.bytes_done, progress.bytes_total);
  });
  bar.clear();
  if (!data) return fail(console, data.error().message);
  const std::vector<std::string> problems = problems_of(*data);
  for (const std::string& problem : problems) console.out << problem << '\n';
  if (!problems.empty()) {
    return fail(console,
                directory + " is not whole: " + count_text(problems.size(), "problem") +
                    "; restore a backup, or save what can be read with 'mete repair " + directory + "'",
                kExitNo);
  }
  print_whole(*data, console.out);
  return kExitDone;
}

// --- repair ----------------------------------------------------------------------------------------------------------

void print_findings(const store::RepairFindings& findings, std::ostream& out) {
  for (const journal::DamagedRange& range : findings.damage) {
    out << "damaged: " << range_text(range) << "\n         " << loss_of(range) << '\n';
  }
  if (findings.changes_without_limit > 0) {
    out << "dropped: " << count_text(findings.changes_without_limit, "change")
        << " of meters and overrides whose limit is lost\n";
  }
  for (const std::string& each : findings.mended) out << "mended:  " << escaped(each) << '\n';
  out << "left:    " << count_text(findings.records, "record") << "; " << contents_text(findings.audit, findings.as_of)
      << '\n';
}

bool is_confirmed(Console& console) {
  console.out << "Go on with what is left, and keep the old files beside it? [y/N] " << std::flush;
  std::string answer;
  std::getline(console.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Instant wall_clock() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Instant() + Duration(std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch));
}

// Of data that was written while the clock was ahead.
Result<int> bring_back(const Invocation& invocation, store::DataRepair& repair, Console& console) {
  const std::string directory = invocation.argument(0);
  if (!repair.findings().is_healthy()) return fail(console, "the data is damaged: repair it without --clock first");
  const Instant now = wall_clock();
  const Instant then = TRY(repair.latest_time());
  if (then <= now) {
    console.out << directory << ": it is not ahead of this machine's clock\n";
    return kExitDone;
  }
  console.out << directory << " goes on from " << base::time_text(then) << ", and it is " << base::time_text(now)
              << "\nEvery meter keeps what it has used, as if it had been charged now; open holds keep the time that "
                 "they have left; ids of operations are forgotten\n";
  if (invocation.is_on("dry-run")) return kExitNo;
  if (!invocation.is_on("yes")) {
    if (::isatty(STDIN_FILENO) != 1) return fail(console, "nothing was changed: give --yes to bring it back");
    if (!is_confirmed(console)) return fail(console, "nothing was changed", kExitNo);
  }
  const auto turned = TRY(repair.bring_back_to(now));
  const auto folder = TRY(repair.carry_out(now));
  console.out << "brought back: " << count_text(turned.meters, "meter") << ", "
              << count_text(turned.holds, "open hold");
  if (turned.holds_lost > 0) {
    console.out << "; lost: " << count_text(turned.holds_lost, "hold")
                << " of meters above their limit, which count as used";
  }
  console.out << "\nThe old files are in " << directory << '/' << folder << '\n';
  return kExitDone;
}

Result<int> run_repair(const Invocation& invocation, Console& console) {
  journal::PosixFileSystem files;
  const std::string directory = invocation.argument(0);
  auto repair = TRY(store::DataRepair::prepare(files, directory));
  if (invocation.is_on("clock")) return bring_back(invocation, *repair, console);
  if (repair->findings().is_healthy()) {
    console.out << directory << ": nothing to repair\n";
    return kExitDone;
  }
  print_findings(repair->findings(), console.out);
  if (invocation.is_on("dry-run")) return kExitNo;
  if (!invocation.is_on("yes")) {
    if (::isatty(STDIN_FILENO) != 1) return fail(console, "nothing was changed: give --yes to go on with what is left");
    if (!is_confirmed(console)) return fail(console, "nothing was changed", kExitNo);
  }
  const auto folder = TRY(repair->carry_out(wall_clock()));
  console.out << directory << " is repaired; the old files are in " << directory << '/' << folder
              << "\nUse 'mete inspect', 'mete usage' and 'mete reconcile' to see what is missing, and set it right.\n";
  return kExitDone;
}

Argument directory_argument() {
  return {.type = ArgumentType::kFolder, .name = "DIRECTORY", .help = "The data of a server, or a backup"};
}

}  // namespace

Command verify_command() {
  return {.name = "verify",
          .summary = "Check that a data directory or a backup is whole",
          .description = {"Reads everything: all checksums are right, all changes can be read, and the books balance: "
                          "every open hold has its parts in its meters, every part has its hold, and no more is held "
                          "than is used. It only looks: the directory may be in use."},
          .arguments = {directory_argument()},
          .examples = {{"mete verify /backups/monday", "Check a backup"}},
          .statuses = {{kExitNo, "it is not whole; every problem is printed"}},
          .run = run_verify};
}

Command repair_command() {
  return {.name = "repair",
          .summary = "Save what can be read of a damaged data directory",
          .description = {"For those who have no backup. Whatever is whole is kept; what was in the damaged places is "
                          "lost, and told. A hold that has lost one of its parts is forgotten, and a part that has "
                          "lost its hold counts as used: nothing is given back, so that no limit is exceeded.",
                          "The result is a new snapshot; the old files are moved to a folder 'damaged-TIME' in the "
                          "directory. The server must not run."},
          .arguments = {directory_argument()},
          .options = {flag("dry-run", "Only tell what would be done"),
                      flag("clock",
                           "Bring data that was written while the machine's clock was ahead back to the present time; "
                           "the old files are moved to a folder 'ahead-TIME'"),
                      flag("yes", "Do not ask before it is done; needed where there is no terminal")},
          .examples = {{"mete repair /var/lib/mete --dry-run", "See what is lost"},
                       {"mete repair /var/lib/mete", "Begin again with what is left"},
                       {"mete repair /var/lib/mete --clock", "Go on after the clock was wrong"}},
          .statuses = {{kExitNo, "there is something to repair, and nothing was changed"}},
          .run = run_repair};
}

}  // namespace mete::cli
