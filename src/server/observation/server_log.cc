#include "server/observation/server_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/monotonic.h"
#include "server/configuration/config_settings.h"
#include "store/persistence.h"
#include "sync/report.h"

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

void warn_of_readable_secrets(const Config& config, const std::string& config_file, base::Log& log) {
  const auto all = settings();
  const bool is_password_in_file = std::any_of(all.begin(), all.end(), [&](const Setting& setting) {
    return setting.kind == SettingKind::kSecret && config.place_of(setting.name).starts_with(config_file + ":");
  });
  const std::pair<std::string_view, std::string> files[] = {
      {"server.password_file", config.password_file},
      {"server.use_password_file", config.use_password_file},
      {"server.look_password_file", config.look_password_file},
      {"server.tls.key", config.tls_key},
      {"the configuration", is_password_in_file ? config_file : ""},
  };
  for (const auto& [what, file] : files) {
    struct stat status {};
    if (file.empty() || ::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if ((status.st_mode & S_IROTH) == 0) continue;
    log.warning("everybody on this machine can read a secret: chmod o-r", {{"file", file}, {"of", what}});
  }
}

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

void SecurityLog::note_wrong_password(std::string_view address) {
  wrong_passwords_.fetch_add(1, std::memory_order_relaxed);
  if (log_ != nullptr) log_->warning("wrong password", {{"client", address}});
}

void SecurityLog::note_not_looked_at(std::string_view address) {
  not_looked_at_.fetch_add(1, std::memory_order_relaxed);
  if (log_ != nullptr) log_->warning("password not looked at: too many wrong ones", {{"client", address}});
}

void SecurityLog::note_cut_off(std::string_view address, std::size_t bytes) const {
  if (log_ == nullptr) return;
  log_->warning("client cut off: the buffers of all clients have reached server.clients_memory_max",
                {{"client", address}, {"bytes", bytes}});
}

void SecurityLog::note_protocol_error(std::string_view address, std::string_view reason) const {
  if (log_ != nullptr) log_->info("protocol error: connection closed", {{"client", address}, {"reason", reason}});
}

}  // namespace mete::server
