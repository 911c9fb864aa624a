#include "server/observation/recovery_log.h"

#include "base/monotonic.h"

namespace mete::server {

namespace {

constexpr std::uint64_t kTellEveryNs = 2'000'000'000;

}  // namespace

LoadLog::LoadLog(base::Log& log) : log_(log), told_ns_(base::monotonic_ns()) {}

void LoadLog::note(const store::LoadProgress& progress) {
  const std::uint64_t now = base::monotonic_ns();
  if (now - told_ns_ < kTellEveryNs) return;
  told_ns_ = now;
  log_.info("loading", {{"bytes", progress.bytes_done}, {"of", progress.bytes_total}});
}

void log_recovery(const store::PersistenceStatus& status, base::Log& log) {
  if (status.recovered_records > 0 || status.recovered_snapshot_bytes > 0) {
    log.info("recovered", {{"snapshot_bytes", status.recovered_snapshot_bytes},
                           {"journal_records", status.recovered_records},
                           {"took_ms", status.recovery_took.ms()}});
  }
  if (!status.cut) return;
  log.warning("the end of the journal was cut off: it was never acknowledged",
              {{"file", status.cut->file}, {"offset", status.cut->offset}, {"bytes", status.cut->bytes}});
}

}  // namespace mete::server
