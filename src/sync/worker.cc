#include "sync/worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "store/store.h"
#include "sync/run.h"
#include "wire/text.h"

namespace mete::sync {

namespace {

// So late a schedule may be noticed, if the clock is set meanwhile or not.
constexpr auto kTick = std::chrono::seconds(1);

}  // namespace

std::string_view RunRecord::state_text() const {
  return state == RunState::kEnded ? to_string(report.outcome) : base::name_of("waiting|running", state);
}

Worker::Worker(store::Store& store, Hooks hooks)
    : store_(store), hooks_(std::move(hooks)), thread_([this] { work(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
    if (source_ != nullptr) source_->cancel();
  }
  signal_.notify_all();
  thread_.join();
}

Result<void> Worker::set_plans(std::vector<Plan> plans) {
  const Instant now = store_.now();
  const std::lock_guard guard(mutex_);
  std::vector<Planned> next;
  for (Plan& plan : plans) {
    Planned& planned = next.emplace_back();
    if (const Planned* const before = find(plan.limit)) planned = *before;
    const bool is_same = planned.status.plan == plan;
    planned.status.plan = std::move(plan);
    if (is_same) continue;  // also its next time
    TRY(schedule(planned, now));
  }
  planned_ = std::move(next);
  return {};
}

Result<void> Worker::schedule(Planned& planned, Instant now) {
  const Plan& plan = planned.status.plan;
  planned.cron.reset();
  planned.status.next_at.reset();
  if (plan.schedule.empty()) return {};
  auto cron = TRY(Cron::make(plan.schedule, plan.zone));
  planned.status.next_at = cron.next(now);
  planned.cron = std::move(cron);
  return {};
}

Result<std::uint64_t> Worker::start(std::string_view limit, const RunOptions& options) {
  const std::lock_guard guard(mutex_);
  if (find(limit) == nullptr) {
    return Error{ErrorCode::kNoLimit, "the configuration has no [[sync]] for limit " + wire::single_quote(limit)};
  }
  const auto number = queue(limit, options, false);
  if (number) return *number;
  return base::unavailable("too many syncs are waiting for their turn already");
}

std::optional<std::uint64_t> Worker::queue(std::string_view limit, const RunOptions& options, bool is_scheduled) {
  std::size_t waiting = 0;
  for (const RunRecord& record : records_) {
    if (record.state != RunState::kWaiting) continue;
    ++waiting;
    if (record.report.limit == limit && record.report.options == options) return record.number;
  }
  if (waiting >= kWaitingMax) return std::nullopt;
  RunRecord& record = records_.emplace_back();
  record.number = next_number_++;
  record.is_scheduled = is_scheduled;
  record.report.limit = limit;
  record.report.options = options;
  signal_.notify_all();
  return record.number;
}

std::vector<PlanStatus> Worker::plans() const {
  const std::lock_guard guard(mutex_);
  std::vector<PlanStatus> all;
  for (const Planned& planned : planned_) all.push_back(planned.status);
  return all;
}

std::vector<RunRecord> Worker::runs() const {
  const std::lock_guard guard(mutex_);
  return {records_.rbegin(), records_.rend()};
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    queue_due();
    RunRecord* const record = first_waiting();
    if (record == nullptr) {
      signal_.wait_for(lock, kTick);
      continue;
    }
    const std::uint64_t number = record->number;
    const RunOptions options = record->report.options;
    const Planned* const planned = find(record->report.limit);
    Report report = record->report;
    report.message = "the configuration has no [[sync]] for it any more";
    if (planned != nullptr) {
      record->state = RunState::kRunning;
      record->report.started_at = store_.now();
      const Plan plan = planned->status.plan;
      lock.unlock();
      report = run(plan, options, number);
      lock.lock();
    }
    end(number, std::move(report));
    const RunRecord ended = *find(number);
    forget_old();
    lock.unlock();
    if (hooks_.on_end) hooks_.on_end(ended);
    lock.lock();
  }
}

// What was due while something else ran is run once, however often it was due.
void Worker::queue_due() {
  const Instant now = store_.now();
  for (Planned& planned : planned_) {
    PlanStatus& status = planned.status;
    if (!status.next_at || *status.next_at > now) continue;
    queue(status.plan.limit, {}, true);
    status.next_at = planned.cron->next(now);
  }
}

RunRecord* Worker::first_waiting() {
  const auto found = std::find_if(records_.begin(), records_.end(),
                                  [](const RunRecord& record) { return record.state == RunState::kWaiting; });
  return found == records_.end() ? nullptr : &*found;
}

Report Worker::run(const Plan& plan, const RunOptions& options, std::uint64_t number) {
  auto source = hooks_.open_source(plan);
  if (!source) {
    return {.limit = plan.limit, .options = options, .message = source.error().message, .started_at = store_.now()};
  }
  const auto use = [&](Source* now) {
    const std::lock_guard guard(mutex_);
    source_ = now;
    if (now != nullptr && is_stopping_) now->cancel();
  };
  use(source->get());
  RunHooks hooks;
  hooks.on_progress = [&](const Progress& progress) {
    const std::lock_guard guard(mutex_);
    find(number)->progress = progress;
  };
  hooks.is_stopping = [&] {
    const std::lock_guard guard(mutex_);
    return is_stopping_;
  };
  Report report = run_sync(plan, options, store_, **source, hooks);
  use(nullptr);
  return report;
}

void Worker::end(std::uint64_t number, Report report) {
  RunRecord& record = *find(number);
  record.state = RunState::kEnded;
  record.report = std::move(report);
  Planned* const planned = find(record.report.limit);
  if (planned == nullptr || record.report.options.is_dry_run) return;
  PlanStatus& status = planned->status;
  ++status.runs[static_cast<std::size_t>(record.report.outcome)];
  status.last = record.report;
  if (record.report.outcome == Outcome::kDone) status.last_success_at = store_.now();
}

void Worker::forget_old() {
  auto ended = static_cast<std::size_t>(std::count_if(
      records_.begin(), records_.end(), [](const RunRecord& record) { return record.state == RunState::kEnded; }));
  std::erase_if(records_, [&](const RunRecord& record) {
    const bool is_old = record.state == RunState::kEnded && ended > kHistoryMax;
    if (is_old) --ended;
    return is_old;
  });
}

Worker::Planned* Worker::find(std::string_view limit) {
  const auto found = std::find_if(planned_.begin(), planned_.end(),
                                  [&](const Planned& planned) { return planned.status.plan.limit == limit; });
  return found == planned_.end() ? nullptr : &*found;
}

RunRecord* Worker::find(std::uint64_t number) {
  const auto found =
      std::find_if(records_.begin(), records_.end(), [&](const RunRecord& record) { return record.number == number; });
  CHECK(found != records_.end());
  return &*found;
}

}  // namespace mete::sync
