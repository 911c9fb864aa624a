// `mete import redis`.
#include <ostream>
#include <variant>

#include "base/errors.h"
#include "base/try.h"
#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/frame/progress_bar.h"
#include "cli/frame/text.h"
#include "cli/import/import_report.h"
#include "cli/import/import_target.h"
#include "cli/import/redis_source.h"
#include "wire/json.h"

namespace mete::cli {

namespace {

// Which names to read: of pairs, or of months.
using Names = std::variant<RedisSource::PairPatterns, KeyPattern>;

Result<std::optional<KeyPattern>> pair_pattern(const Invocation& invocation, const std::string& option) {
  const auto text = invocation.given(option);
  if (!text) return std::nullopt;
  auto pattern = KeyPattern::parse(*text, 1);
  if (pattern) return std::optional(std::move(*pattern));
  return base::invalid("--" + option + " " + pattern.error().message);
}

Result<Names> names_of(const Invocation& invocation) {
  auto used = TRY(pair_pattern(invocation, "used"));
  auto amount = TRY(pair_pattern(invocation, "limit"));
  const bool has_pairs = used || amount;
  if (invocation.arguments.empty()) {
    if (!has_pairs) return base::invalid("which keys? Give --used and --limit, or the MONTHS");
    if (used && amount && used->text() == amount->text()) return base::invalid("--used and --limit are the same");
    return Names(RedisSource::PairPatterns{.used = std::move(used), .amount = std::move(amount)});
  }
  if (has_pairs) return base::invalid("MONTHS goes without --used and --limit: import one after the other");
  auto months = KeyPattern::parse(invocation.argument(0), 2);
  if (!months) return base::invalid("MONTHS " + months.error().message);
  return Names(std::move(*months));
}

std::string names_text(const Names& names) {
  if (const auto* const months = std::get_if<KeyPattern>(&names)) return shown(months->text());
  const auto& pairs = std::get<RedisSource::PairPatterns>(names);
  if (!pairs.used) return shown(pairs.amount->text());
  return shown(pairs.used->text()) + (pairs.amount ? " or " + shown(pairs.amount->text()) : "");
}

class Import {
 public:
  Import(RedisSource source, ImportTarget target, bool is_dry_run, Console& console)
      : source_(std::move(source)),
        target_(std::move(target)),
        is_dry_run_(is_dry_run),
        report_(is_dry_run),
        bar_(console) {}

  Result<void> run(const Names& names) {
    const auto on_findings = [this](const Findings& findings) { return take_over(findings); };
    auto done = std::holds_alternative<KeyPattern>(names)
                    ? target_.current_month().and_then([&](Month month) {
                        return source_.read_months(std::get<KeyPattern>(names), month, on_findings);
                      })
                    : source_.read_pairs(std::get<RedisSource::PairPatterns>(names), on_findings);
    bar_.clear();
    return done;
  }

  [[nodiscard]] const ImportReport& report() const { return report_; }

 private:
  Result<void> take_over(const Findings& findings) {
    const auto standings = TRY(target_.standings(findings.entries));
    std::vector<Change> changes;
    std::vector<std::vector<std::string>> commands;
    for (std::size_t i = 0; i < standings.size(); ++i) {
      const Entry& entry = findings.entries[i];
      changes.push_back(change_between(standings[i], entry));
      for (auto& command : commands_for(target_.limit(), entry.key, changes.back())) {
        commands.push_back(std::move(command));
      }
    }
    if (!is_dry_run_) {
      TRY(target_.apply(commands));
    }
    // Only what is done is told.
    report_.add_skipped(findings);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      report_.add_change(findings.entries[i], standings[i], changes[i]);
    }
    const RedisSource::Progress progress = source_.progress();
    bar_.show(is_dry_run_ ? "looking" : "importing", progress.done, progress.total,
              count_text(report_.seen()) + " keys");
    return {};
  }

  RedisSource source_;
  ImportTarget target_;
  bool is_dry_run_;
  ImportReport report_;
  ProgressBar bar_;
};

Result<int> tell(const Import& import, const Invocation& invocation, Console& console, const Names& names) {
  const ImportReport& report = import.report();
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) { report.write(writer); });
  } else if (report.seen() == 0) {
    console.out << "no key of Redis is like " << names_text(names) << ": check that, and the database in --from\n";
  } else {
    report.print(console.out);
  }
  return report.has_skipped() || report.seen() == 0 ? kExitNo : kExitDone;
}

Result<int> run_import_redis(const Invocation& invocation, Console& console) {
  const auto names = names_of(invocation);
  if (!names) return usage_error(invocation, names.error().message);
  const auto form = std::holds_alternative<KeyPattern>(*names) ? CounterForm::kMonths : CounterForm::kPairs;
  auto connection = TRY(connect(invocation, console));
  auto target = TRY(ImportTarget::open(std::move(connection), invocation.value("as", console), form));
  auto source = RedisSource::open(invocation.value("from", console));
  if (!source) return fail(console, "--from: " + source.error().message);
  Import import(std::move(*source), std::move(target), invocation.is_on("dry-run"), console);
  if (const auto done = import.run(*names); !done) {
    const std::uint64_t imported = invocation.is_on("dry-run") ? 0 : import.report().imported();
    return fail(console, done.error().message + "; " + count_text(imported) +
                             " keys were imported before, and more may have been: run it again to go on");
  }
  return tell(import, invocation, console, *names);
}

std::vector<Argument> import_options() {
  return {
      {.word = "as",
       .type = ArgumentType::kText,
       .name = "LIMIT",
       .help = "The limit to import into, which exists: a stock, or for MONTHS a calendar per month",
       .is_required = true},
      {"used", ArgumentType::kText, "PATTERN", "The names of what is used, with a star in the place of the key"},
      {"limit", ArgumentType::kText, "PATTERN", "The names of what there is in all for a key, written in the same way"},
      {"from", ArgumentType::kText, "URL",
       "The Redis, which is only read: redis://:PASSWORD@HOST:PORT/DATABASE, rediss://, redis+sentinel://, "
       "redis+cluster://; ?timeout=5s for one that is slow to answer",
       "redis://127.0.0.1:6379", "METE_IMPORT_FROM"},
      flag("dry-run", "Tell what would be imported, and change nothing")};
}

}  // namespace

Command import_redis_command() {
  return {
      .name = "import redis",
      .summary = "Take over what counters in Redis say",
      .description =
          {"Reads usage and amounts from keys of Redis, and sets them in a limit of the server: usage as 'mete "
           "reconcile' "
           "does, amounts as 'mete limit override' does. What is right already is left alone, so it can be run again: "
           "after an interruption, or for what has changed since. Redis is only read.",
           "Two forms. --used and --limit name two counters for each key, and the key is what their star stands for; "
           "one of them alone imports that alone. MONTHS names a counter for each key and month, as YYYY-MM: those of "
           "the current month, by the server's clock and the limit's time zone, are imported, and earlier ones are "
           "skipped.",
           "What is not an integer, is negative, has no counterpart, or is too large is skipped and told, and never "
           "guessed."},
      .arguments = {{.name = "MONTHS",
                     .help = "The names of counters per month: the first star is the key, the second the month",
                     .is_optional = true}},
      .options = client_options(import_options()),
      .examples = {{"mete import redis --used 'quota:tenant:*:used' --as storage --dry-run",
                    "See what would be imported"},
                   {"mete import redis --used 'quota:tenant:*:used' --limit 'quota:tenant:*:limit' --as storage",
                    "Import usage and amounts"},
                   {"mete import redis --as links 'users:*:quota:*'", "Import the counters of this month"}},
      .statuses = {{kExitNo, "some keys were skipped, those of earlier months aside, or none was found"}},
      .run = run_import_redis};
}

}  // namespace mete::cli
