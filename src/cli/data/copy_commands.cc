// `mete backup` and `mete restore`.
#include <ostream>

#include "base/time_text.h"
#include "cli/commands.h"
#include "cli/frame/progress_bar.h"
#include "cli/frame/text.h"
#include "journal/posix_file_system.h"
#include "store/embedded/data_copy.h"

namespace mete::cli {

namespace {

using CopyData = Result<store::CopyReport> (*)(journal::FileSystem&, const store::CopyRequest&);

Result<int> copy(CopyData copy_data, store::CopyRequest request, Console& console) {
  ProgressBar bar(console);
  request.on_check = [&](const journal::Progress& progress) {
    bar.show("checking", progress.bytes_done, progress.bytes_total);
  };
  request.on_copy = [&](const journal::Progress& progress) {
    bar.show("copying", progress.bytes_done, progress.bytes_total);
  };
  journal::PosixFileSystem files;
  const auto report = copy_data(files, request);
  bar.clear();
  if (!report) return fail(console, report.error().message);
  console.out << request.to << ": " << size_text(static_cast<std::int64_t>(report->bytes)) << " in "
              << count_text(report->files, "file") << ", " << count_text(report->records, "record") << ", as of "
              << base::time_text(report->as_of) << '\n';
  return kExitDone;
}

Result<int> run_backup(const Invocation& invocation, Console& console) {
  return copy(store::back_up, {.from = invocation.value("data", console), .to = invocation.argument(0)}, console);
}

Result<int> run_restore(const Invocation& invocation, Console& console) {
  return copy(store::restore_backup, {.from = invocation.argument(0), .to = invocation.value("data", console)},
              console);
}

Argument data_option(std::string_view help) {
  return {.word = "data",
          .type = ArgumentType::kFolder,
          .name = "DIRECTORY",
          .help = help,
          .default_text = "./mete-data",
          .environment = "METE_SERVER_DATA"};
}

}  // namespace

Command backup_command() {
  return {.name = "backup",
          .summary = "Copy the data of a server, which may go on running",
          .description = {"Reads the files of the server on its own machine; the server does not notice. The copy has "
                          "everything that was acknowledged before it began, and every byte of it is checked, in the "
                          "source and in the copy. A damaged source is an error that says where."},
          .arguments = {{.type = ArgumentType::kFolder,
                         .name = "TO",
                         .help = "The directory to make; it does not exist, or is empty"}},
          .options = {data_option("Where the server keeps its data")},
          .examples = {{"mete backup /backups/monday --data /var/lib/mete", "Copy what the server has"}},
          .run = run_backup};
}

Command restore_command() {
  return {.name = "restore",
          .summary = "Make a backup the data of a server",
          .description = {"Checks all of the backup first, as 'mete verify' does. The server must not run, and the "
                          "directory must not have data: to replace some, move it away first.",
                          "Time has passed meanwhile: what has expired since the backup was made will have expired, "
                          "and what was done after it is not known."},
          .arguments = {{.type = ArgumentType::kFolder, .name = "FROM", .help = "The backup"}},
          .options = {data_option("Where the server shall find it; it does not exist, or is empty")},
          .examples = {{"mete restore /backups/monday --data /var/lib/mete", "Begin from a backup"}},
          .run = run_restore};
}

}  // namespace mete::cli
