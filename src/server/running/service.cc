#include "server/running/service.h"

#include <fmt/format.h>

#include <utility>

#include "escrow/status.h"
#include "net/listener.h"
#include "server/decisions/wait_queue.h"
#include "server/running/background.h"
#include "server/running/worker.h"
#include "store/store.h"
#include "sync/postgres_source.h"
#include "sync/worker.h"

namespace mete::server {

struct Service::Working {
  WaitQueue waits;
  Background background;
  sync::Worker syncs;
};

Service::Service(store::Store& with_store, Config with_config, std::vector<std::unique_ptr<Worker>> with_workers)
    : store(with_store),
      workers(std::move(with_workers)),
      doorkeeper(with_config.passwords()),
      buffers([this](const net::BufferBudget::Victim& victim) { cut_off(victim); }),
      config(std::move(with_config)),
      working(new Working{.waits = {workers[0]->loop, workers[0]->connections.fibers(), store, config.waiters_max},
                          .background = {},
                          .syncs = {store,
                                    {.open_source = sync::make_postgres_source,
                                     .on_end = [this](const sync::RunRecord& record) { note_sync(record); }}}}),
      waits(working->waits),
      background(working->background),
      syncs(working->syncs) {
  for (const auto& worker : this->workers) worker->connections.share(buffers);
  request_limits.arguments_max = config.arguments_max;
  request_limits.bulk_bytes_max = config.bulk_max;
  pipeline_max = config.pipeline_max;
}

void Service::cut_off(const net::BufferBudget::Victim& victim) {
  victim.set->loop().post([this, victim] {
    victim.set->with(victim.connection, [&](net::Connection& connection) {
      security.note_cut_off(net::peer_address(connection.socket()).to_string(), victim.bytes);
      connection.close();
    });
  });
}

Service::~Service() { end(); }

void Service::end() {
  background.finish();
  if (store::Persistence* const persistence = store.persistence()) persistence->on_progress(nullptr);
  for (const auto& worker : workers) worker->connections.clear();
}

std::optional<escrow::ClusterStatus> Service::read_cluster() const {
  return cluster_status ? std::optional(cluster_status()) : std::nullopt;
}

std::optional<std::string> Service::why_not_ready() const {
  if (!is_ready) return "the server is not ready: it is starting or stopping";
  if (const store::Persistence* const persistence = store.persistence()) {
    if (const auto failure = persistence->failure()) return failure->message;
    if (persistence->status().room == journal::DiskRoom::Level::kNone) {
      return "the disk is nearly full, and changes are refused";
    }
  }
  const auto remote = store.remote();
  if (remote && !remote->is_reachable) {
    return "the store does not answer: " + fmt::format("{}", fmt::join(remote->nodes, ", "));
  }
  if (remote && !remote->loss.empty()) {
    return "the store has lost its state, and takes are refused: " + remote->loss;
  }
  const auto cluster = read_cluster();
  if (cluster && cluster->halted) return "this node draws nothing: " + *cluster->halted;
  return std::nullopt;
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
