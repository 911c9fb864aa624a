#include "server/limits/sync_description.h"

#include <iterator>

#include "base/time_text.h"
#include "wire/json.h"

namespace mete::server {

namespace {

LimitField count(std::string_view name, std::uint64_t number) { return {name, static_cast<std::int64_t>(number)}; }

std::string time_or_nothing(const std::optional<Instant>& at) {
  return !at || *at == Instant() ? "" : base::time_text(*at);
}

}  // namespace

std::vector<LimitField> describe_report(const sync::Report& report) {
  return {{"limit", report.limit},
          {"dry_run", report.options.is_dry_run},
          {"forced", report.options.is_forced},
          {"message", report.message},
          {"started_at", time_or_nothing(report.started_at)},
          {"took_ms", report.took.ms()},
          count("keys", report.keys),
          count("missing_keys", report.missing_keys),
          count("differing_keys", report.differing_keys),
          count("changed_keys", report.changed_keys),
          {"used", report.used},
          {"drift", report.drift}};
}

std::vector<LimitField> describe_run(const sync::RunRecord& record) {
  const bool is_running = record.state == sync::RunState::kRunning;
  std::vector<LimitField> fields = {count("run", record.number),
                                    {"state", std::string(record.state_text())},
                                    {"stage", is_running ? std::string(to_string(record.progress.stage)) : ""},
                                    {"trigger", std::string(record.is_scheduled ? "schedule" : "demand")}};
  std::vector<LimitField> report = describe_report(record.report);
  std::move(report.begin(), report.end(), std::back_inserter(fields));
  return fields;
}

std::vector<LimitField> describe_sync(const sync::PlanStatus& status) {
  const sync::Plan& plan = status.plan;
  return {{"limit", plan.limit},
          {"schedule", plan.schedule},
          {"zone", plan.zone},
          {"missing", std::string(to_string(plan.missing))},
          {"max_change", plan.max_change ? plan.max_change->text() : ""},
          {"next_run_at", time_or_nothing(status.next_at)},
          {"last_success_at", time_or_nothing(status.last_success_at)}};
}

void write_differences(const sync::Report& report, wire::JsonWriter& writer) {
  writer.name("differences").begin_array();
  for (const sync::Difference& difference : report.largest) {
    writer.begin_object().member("key", difference.key).member("used", difference.used);
    writer.member("truth", difference.truth).member("change", difference.change()).end_object();
  }
  writer.end_array();
}

}  // namespace mete::server
