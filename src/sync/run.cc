#include "sync/run.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/errors.h"
#include "base/monotonic.h"
#include "base/names.h"
#include "base/random.h"
#include "base/try.h"
#include "core/refusals.h"
#include "store/store.h"
#include "sync/differences.h"
#include "sync/ledger.h"
#include "sync/source.h"
#include "wire/text.h"

namespace mete::sync {

namespace {

constexpr std::size_t kPageKeys = 1000;
constexpr std::size_t kShiftsTogether = 10'000;
constexpr std::uint64_t kRowsPerProgress = 10'000;

std::string text(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

// One run, step by step. Each step that fails ends it.
class Run {
 public:
  Run(const Plan& plan, store::Store& store, Source& source, const RunHooks& hooks, Report& report)
      : plan_(plan), store_(store), source_(source), hooks_(hooks), report_(report) {}

  Result<void> go() {
    for (const auto step : kSteps) {
      TRY((this->*step)());
    }
    return {};
  }

 private:
  using Step = Result<void> (Run::*)();

  Result<void> find_limit() {
    auto found = TRY(store_.limit(plan_.limit));
    if (!found) return core::unknown_limit(plan_.limit);
    limit_ = std::move(found);
    return check_kind(*limit_);
  }

  Result<void> lock() {
    const auto locked = TRY(source_.lock());
    if (locked) return {};
    report_.outcome = Outcome::kBusy;
    return base::invalid("limit " + wire::quote(plan_.limit) + " is being synced elsewhere");
  }

  Result<void> look_first() {
    since_ = store_.now();
    return look([this](std::string_view key, Amount used) { ledger_.look_first(key, used); });
  }

  Result<void> begin() { return source_.begin(); }

  Result<void> look_again() {
    return look([this](std::string_view key, Amount used) { ledger_.look_again(key, used); });
  }

  template <class Note>
  Result<void> look(Note note) {
    std::uint64_t cursor = 0;
    do {
      const auto page = TRY(store_.scan(plan_.limit, cursor, kPageKeys));
      for (const KeyUsage& each : page.keys) note(each.key, each.usage.used);
      cursor = page.cursor;
      TRY(tell(Stage::kMarking, ledger_.entries().size(), 0));
    } while (cursor != 0);
    return {};
  }

  Result<void> read() {
    std::uint64_t rows = 0;
    Result<void> seen;
    const auto read = source_.read([&](Source::Row row) {
      ++rows;
      seen = note_row(row);
      if (!seen) seen = base::invalid("the query's row " + std::to_string(rows) + ": " + seen.error().message);
      if (seen && rows % kRowsPerProgress == 0) seen = tell(Stage::kReading, rows, 0);
      return seen.has_value();
    });
    return seen ? read : seen;
  }

  Result<void> note_row(Source::Row row) {
    const auto truth = TRY(parse_row(row));
    if (ledger_.tell_truth(truth.key, truth.amount)) return {};
    return base::invalid("key " + wire::quote(truth.key) +
                         " came before: group by it, so that each key has one amount");
  }

  Result<void> compare() {
    TRY(add_up(ledger_, plan_.missing, report_));
    const auto reason = report_.options.is_forced ? std::nullopt : why_refused(plan_, report_);
    if (!reason) return {};
    report_.outcome = Outcome::kRefused;
    return base::invalid(*reason);
  }

  // That what was found out still holds.
  Result<void> confirm() {
    if (report_.options.is_dry_run) return {};
    TRY(source_.confirm_lock());
    const auto now = TRY(store_.limit(plan_.limit));
    if (now == limit_) return {};
    return base::invalid("the limit was changed meanwhile: run it again");
  }

  Result<void> apply() {
    if (report_.options.is_dry_run) return {};
    std::vector<store::Shift> shifts;
    std::uint64_t done = 0;
    for (const Ledger::Entry& entry : ledger_.entries()) {
      const Amount change = change_of(entry, plan_.missing).value_or(0);
      if (change != 0) shifts.push_back({entry.key(), change});
      if (shifts.size() < kShiftsTogether) continue;
      done += shifts.size();
      TRY(shift(shifts));
      if (auto ok = tell(Stage::kApplying, done, report_.differing_keys); !ok) return with_count(ok.error());
    }
    TRY(shift(shifts));
    return judge_shifts();
  }

  Result<void> shift(std::vector<store::Shift>& shifts) {
    std::vector<Result<store::Shifted>> answers(shifts.size());
    store_.shift({.limit = plan_.limit, .since = since_, .shifts = shifts, .answers = answers});
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const Result<store::Shifted>& answer = answers[i];
      if (!answer) {
        if (!first_failure_) first_failure_ = answer.error();
      } else if (answer->is_late) {
        ++late_keys_;
      } else if (answer->change != 0) {
        ++report_.changed_keys;
      }
    }
    shifts.clear();
    const bool is_away = first_failure_ && first_failure_->code == ErrorCode::kUnavailable;
    return is_away ? with_count(*first_failure_) : Result<void>();
  }

  Result<void> judge_shifts() {
    if (first_failure_) return with_count(*first_failure_);
    if (late_keys_ == 0) return {};
    return base::invalid("a new period began while it ran, so that " + text(late_keys_, "key") +
                         " had to be left alone: run it "
                         "well before a period ends");
  }

  [[nodiscard]] Result<void> with_count(const Error& error) const {
    return Error{error.code, error.message + "; " + text(report_.changed_keys, "key") + " of " +
                                 std::to_string(report_.differing_keys) +
                                 " had been changed, and a few more may have been: "
                                 "the next run sets the rest right"};
  }

  Result<void> tell(Stage stage, std::uint64_t done, std::uint64_t total) {
    if (hooks_.on_progress) hooks_.on_progress({stage, done, total});
    if (hooks_.is_stopping && hooks_.is_stopping()) return base::invalid("it was stopped");
    return {};
  }

  static constexpr std::array<Step, 9> kSteps = {&Run::find_limit, &Run::lock,       &Run::look_first,
                                                 &Run::begin,      &Run::look_again, &Run::read,
                                                 &Run::compare,    &Run::confirm,    &Run::apply};

  const Plan& plan_;
  store::Store& store_;
  Source& source_;
  const RunHooks& hooks_;
  Report& report_;
  std::optional<Limit> limit_;
  Instant since_;
  Ledger ledger_{base::random_number()};
  std::uint64_t late_keys_ = 0;
  std::optional<Error> first_failure_;
};

}  // namespace

std::string_view to_string(Outcome outcome) { return base::name_of("done|refused|busy|failed", outcome); }

std::string_view to_string(Stage stage) { return base::name_of("marking|reading|applying", stage); }

Report run_sync(const Plan& plan, const RunOptions& options, store::Store& store, Source& source,
                const RunHooks& hooks) {
  Report report{.limit = plan.limit, .options = options, .started_at = store.now()};
  const std::uint64_t began_ns = base::monotonic_ns();
  const auto done = Run(plan, store, source, hooks, report).go();
  report.took = Duration::from_ns(static_cast<std::int64_t>(base::monotonic_ns() - began_ns));
  if (done) {
    report.outcome = Outcome::kDone;
  } else {
    report.message = done.error().message;
  }
  return report;
}

}  // namespace mete::sync
