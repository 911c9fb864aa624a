// `mete inspect`: what is in a data directory.
#include <ostream>

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "cli/commands.h"
#include "cli/data/change_lines.h"
#include "cli/frame/progress_bar.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "journal/posix_file_system.h"
#include "server/limits/limit_fields.h"
#include "store/embedded/data_reader.h"
#include "wire/json.h"

namespace mete::cli {

namespace {

std::string value_text(const wire::Scalar& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  const std::string text = printable(std::get<std::string>(value));
  const bool has_clear_ends = text.find(' ') == std::string::npos || text.front() == '"';
  return has_clear_ends ? text : '"' + text + '"';
}

// Changes by their kinds, with the names that their lines have too.
std::vector<std::pair<std::string_view, std::uint64_t>> kinds_of(const store::ChangeCounts& counts) {
  return {{"meter", counts.meters}, {"operation", counts.operations}, {"override", counts.overrides},
          {"key", counts.keys},     {"limit", counts.limits},         {"drop", counts.drops},
          {"clear", counts.clears}};
}

std::vector<std::pair<std::string_view, std::uint64_t>> totals_of(const engine::Audit& audit) {
  return {{"counters", audit.counters},
          {"quotas", audit.quotas},
          {"throttles", audit.throttles},
          {"open_holds", audit.open_holds},
          {"ids", audit.ids}};
}

std::string created_text(const store::DataFile& file) { return file.created ? base::time_text(*file.created) : "-"; }

std::string rule_text(const Limit& limit) {
  std::string text;
  for (const wire::NamedValue& field : server::describe_limit(limit)) {
    text += (text.empty() ? "" : " ") + std::string(field.name) + "=" + value_text(field.value);
  }
  return text;
}

void print_summary(const store::LoadedData& data, const engine::Audit& audit, std::ostream& out) {
  Table files({{"FILE"}, {"BYTES", Table::kRight}, {"RECORDS", Table::kRight}, {"CREATED"}});
  for (const store::DataFile& file : data.files) {
    files.add({file.name, count_text(file.bytes), count_text(file.records), created_text(file)});
  }
  out << files.text();
  out << "\nchanges: ";
  std::string_view separator;
  for (const auto& [kind, count] : kinds_of(data.counts)) {
    if (count == 0) continue;
    out << separator << count_text(count) << ' ' << kind;
    separator = ", ";
  }
  out << (separator.empty() ? "none" : "") << "\nas of    " << base::time_text(data.as_of) << "\n\n";
  Table limits({{"LIMIT"},
                {"METERS", Table::kRight},
                {"USED", Table::kRight},
                {"HELD", Table::kRight},
                {"OVERRIDES", Table::kRight},
                {"RULE"}});
  for (const engine::LimitTally& tally : audit.limits) {
    limits.add({printable(tally.limit.name()), count_text(tally.meters), number_text(tally.used),
                number_text(tally.held), count_text(tally.overrides), rule_text(tally.limit)});
  }
  if (limits.size() > 0) {
    out << limits.text();
    out << '\n';
  }
  std::vector<Field> totals;
  for (const auto& [name, count] : totals_of(audit)) totals.emplace_back(name, count_text(count));
  out << fields_text(totals);
}

void write_limit(const engine::LimitTally& tally, wire::JsonWriter& writer) {
  writer.begin_object().member("name", tally.limit.name()).members(server::describe_limit(tally.limit));
  writer.member("meters", static_cast<std::int64_t>(tally.meters)).member("used", tally.used);
  writer.member("held", tally.held).member("overrides", static_cast<std::int64_t>(tally.overrides)).end_object();
}

void write_summary(const store::LoadedData& data, const engine::Audit& audit, wire::JsonWriter& writer) {
  writer.name("files").begin_array();
  for (const store::DataFile& file : data.files) {
    writer.begin_object().member("name", file.name).member("bytes", static_cast<std::int64_t>(file.bytes));
    writer.member("records", static_cast<std::int64_t>(file.records));
    if (file.created) writer.member("created", base::time_text(*file.created));
    writer.end_object();
  }
  writer.end_array().name("changes").begin_object();
  for (const auto& [kind, count] : kinds_of(data.counts)) writer.member(kind, static_cast<std::int64_t>(count));
  writer.end_object().member("as_of", base::time_text(data.as_of)).name("limits").begin_array();
  for (const engine::LimitTally& tally : audit.limits) write_limit(tally, writer);
  writer.end_array();
  for (const auto& [name, count] : totals_of(audit)) writer.member(name, static_cast<std::int64_t>(count));
  if (data.problem) writer.member("problem", data.problem->message);
}

Result<int> show_summary(const Invocation& invocation, Console& console) {
  journal::PosixFileSystem files;
  ProgressBar bar(console);
  const auto data = store::load_data(files, invocation.argument(0), [&](const journal::Progress& progress) {
    bar.show("reading", progress.bytes_done, progress.bytes_total);
  });
  bar.clear();
  if (!data) return fail(console, data.error().message);
  const engine::Audit audit = data->engine != nullptr ? data->engine->audit(data->as_of) : engine::Audit();
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { write_summary(*data, audit, writer); });
  } else {
    print_summary(*data, audit, console.out);
  }
  return data->problem ? fail(console, data->problem->message, kExitNo) : kExitDone;
}

void print_line(const journal::RecordPosition& place, const ChangeLine& line, std::ostream& out) {
  out << place.file << ' ' << place.offset << ' ' << line.kind;
  for (const wire::NamedValue& field : line.fields) out << ' ' << field.name << '=' << value_text(field.value);
  out << '\n';
}

void write_line(const journal::RecordPosition& place, const ChangeLine& line, wire::JsonWriter& writer) {
  writer.member("file", place.file).member("offset", static_cast<std::int64_t>(place.offset));
  writer.member("change", line.kind).members(line.fields);
}

// First all of it is read once, so that nothing is printed twice if files change meanwhile; then the same again.
Result<int> show_records(const Invocation& invocation, Console& console) {
  journal::PosixFileSystem files;
  auto viewed = TRY(store::view_data(files, {.directory = invocation.argument(0)}));
  journal::RecordPosition place;
  ChangeLines lines([&](const ChangeLine& line) {
    if (invocation.is_on("json")) {
      print_json(console, [&](wire::JsonWriter& writer) { write_line(place, line, writer); });
    } else {
      print_line(place, line, console.out);
    }
  });
  const auto shown = journal::recover(
      *viewed.view, {.directory = invocation.argument(0),
                     .mode = journal::RecoveryMode::kLookOnly,
                     .on_record = [&](std::string_view body, const journal::RecordPosition& at) -> Result<void> {
                       place = at;
                       if (console.out.fail()) return base::unavailable("the output cannot be written");
                       return engine::read_changes(body, lines);
                     }});
  return shown ? kExitDone : fail(console, shown.error().message, kExitNo);
}

Result<int> run_inspect(const Invocation& invocation, Console& console) {
  return invocation.is_on("records") ? show_records(invocation, console) : show_summary(invocation, console);
}

}  // namespace

Command inspect_command() {
  return {
      .name = "inspect",
      .summary = "Show what is in a data directory",
      .description = {"The files, the limits with what is used and held of them, keys, holds and ids, as of the "
                      "last record. It only looks: the directory may be in use. One that is damaged is shown up "
                      "to the damage, which is told at the end."},
      .arguments = {{.type = ArgumentType::kFolder, .name = "DIRECTORY", .help = "The data of a server, or a backup"}},
      .options = {flag("records",
                       "Print every change in its order, one a line: file, offset of its record, and what it "
                       "says"),
                  flag("json", "Print JSON; with --records an object a line")},
      .examples = {{"mete inspect /var/lib/mete", "What a server has on disk"},
                   {"mete inspect /backups/monday --records | grep key=alice", "All that happened to one key"}},
      .statuses = {{kExitNo, "the directory is damaged"}},
      .run = run_inspect};
}

}  // namespace mete::cli
