// The fields of syncs and their reports, as core/answer_fields.h has those of decisions: for RESP, HTTP and
// `mete sync --json`. Times are empty where there are none.
#pragma once

#include <string>

#include "base/time_text.h"
#include "core/answer_fields.h"
#include "sync/report.h"

namespace mete::sync {

inline std::string time_or_nothing(const std::optional<Instant>& at) {
  return at.value_or(Instant()) == Instant() ? "" : base::time_text(*at);
}

// A plan that runs by itself, or on demand.
void describe_fields(const PlanStatus& status, auto&& tell) {
  const Plan& plan = status.plan;
  tell("limit", plan.limit, "The limit's name.");
  tell("schedule", plan.schedule, "As cron has it; empty: only on demand.");
  tell("zone", plan.zone, "The time zone of the schedule.");
  tell("missing", OneOf{to_string(plan.missing), kMissingNames},
       "What becomes of keys that the query does not return.");
  tell("max_change", plan.max_change ? plan.max_change->text() : "", "Empty where there is none.");
  tell("next_run_at", time_or_nothing(status.next_at), "In UTC; empty where there is no schedule.");
  tell("last_success_at", time_or_nothing(status.last_success_at), "In UTC; empty if there was none since the start.");
}

// Of a run that has ended, or, as far as that is known, of one that has not. Its differences are a list beside these.
void describe_fields(const Report& report, auto&& tell) {
  tell("limit", report.limit, "The limit's name.");
  tell("dry_run", report.options.is_dry_run, "Whether it only tells.");
  tell("forced", report.options.is_forced, "Whether it goes beyond max_change.");
  tell("message", report.message, "Why it was not done.");
  tell("started_at", time_or_nothing(report.started_at), "In UTC; empty while it waits.");
  tell("took_ms", report.took, "0 until it has ended.");
  tell("keys", report.keys, "That the query returned.");
  tell("missing_keys", report.missing_keys, "In use, and not returned.");
  tell("differing_keys", report.differing_keys, "That are to be changed.");
  tell("changed_keys", report.changed_keys, "That were changed.");
  tell("used", report.used, "In all, as it was counted here.");
  tell("drift", report.drift, "The sum of all differences, whatever their sign.");
}

void describe_fields(const RunRecord& record, auto&& tell) {
  const bool is_running = record.state == RunState::kRunning;
  tell("run", record.number, "Its number.");
  tell("state", OneOf{record.state_text(), "waiting|running|done|refused|busy|failed"},
       "How it stands, or how it ended; busy: another server is at it.");
  tell("stage", OneOf{is_running ? to_string(record.progress.stage) : "", "|marking|reading|applying"},
       "While it is running.");
  tell("trigger", OneOf{record.is_scheduled ? "schedule" : "demand", "schedule|demand"}, "Why it was started.");
  describe_fields(record.report, tell);
}

void describe_fields(const Difference& difference, auto&& tell) {
  tell("key", difference.key, "Who is charged.");
  tell("used", difference.used, "By what was counted here, without what is held.");
  tell("truth", difference.truth, "By the source of truth.");
  tell("change", difference.change(), "What was added, or would be.");
}

}  // namespace mete::sync
