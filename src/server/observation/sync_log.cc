#include "server/observation/sync_log.h"

namespace mete::server {

void log_sync(const sync::RunRecord& record, base::Log& log) {
  const sync::Report& report = record.report;
  switch (report.outcome) {
    case sync::Outcome::kDone:
      log.info("sync done", {{"limit", report.limit},
                             {"dry_run", report.options.is_dry_run},
                             {"keys", report.keys},
                             {"differing_keys", report.differing_keys},
                             {"changed_keys", report.changed_keys},
                             {"drift", report.drift},
                             {"took_ms", report.took.ms()}});
      return;
    case sync::Outcome::kBusy:
      log.info("sync left to another server", {{"limit", report.limit}});
      return;
    case sync::Outcome::kRefused:
      log.warning("sync refused: nothing has changed", {{"limit", report.limit}, {"reason", report.message}});
      return;
    case sync::Outcome::kFailed:
      log.error("sync failed", {{"limit", report.limit}, {"reason", report.message}});
      return;
  }
}

}  // namespace mete::server
