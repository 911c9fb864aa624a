#include "server/running/service.h"

#include <utility>

namespace mete::server {

Service::~Service() {
  if (store::Persistence* const persistence = store.persistence()) persistence->on_progress(nullptr);
  for (const auto& worker : workers) worker->connections.clear();
}

// Where usage was taken off, somebody may have waited for that.
void Service::note_sync(const sync::RunRecord& record) {
  if (record.report.changed_keys > 0) waits.nudge_all();
  if (on_sync_end) on_sync_end(record);
}

void Service::watch_persistence(std::function<void(const Error&)> on_failure) {
  store::Persistence* const persistence = store.persistence();
  if (persistence == nullptr) return;
  for (const auto& worker : workers) worker->gate.guard(*persistence);
  const auto note_progress = [this, persistence, on_failure = std::move(on_failure)] {
    for (const auto& worker : workers) worker->gate.note_progress();
    const auto failure = persistence->failure();
    if (failure && !is_failure_told.exchange(true)) on_failure(*failure);
  };
  persistence->on_progress(note_progress);
  note_progress();  // What has happened before.
}

}  // namespace mete::server
