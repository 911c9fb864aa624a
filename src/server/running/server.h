// Server: `mete serve`: listeners, event loops, the store, signals and the reload of the configuration.
//
// start() makes it ready to answer; run() answers until a signal or SHUTDOWN stops it: no new connections, what has
// arrived is answered, then it returns.
#pragma once

#include <mete/result.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "server/configuration/config.h"
#include "server/configuration/watched_files.h"
#include "server/envoy/rule_book.h"
#include "server/running/banner.h"
#include "server/running/doors.h"
#include "server/running/reloads.h"
#include "server/running/service.h"
#include "server/running/startup.h"

namespace mete::server {

class Server {
 public:
  // `sources` are read again at each reload. `on_load` is called now and then while the store reads its files.
  static Result<std::unique_ptr<Server>> start(const ConfigSources& sources, base::Log& log,
                                               std::function<void(const store::LoadProgress&)> on_load = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  [[nodiscard]] Banner banner() const;
  // Until it is stopped, or cannot go on and has to be started again: false.
  bool run();

 private:
  class Signals;

  Server(ConfigSources sources, Startup startup, base::Log& log);

  Result<void> prepare();
  void start_workers();
  void drain();
  void stop();
  void stop_worker(Worker& worker);
  void note_stopped(Worker& worker);
  // What is read again when it changes: the configuration's file, and those that it names.
  void watch_files(const Config& config);
  void apply_settings();
  // Once a second: what nobody tells of, the disk's room and the machine's clock.
  void look_after();
  void look_at_disk();
  void look_at_clock();

  ConfigSources sources_;
  base::Log& log_;
  std::unique_ptr<FileLimits> store_;
  store::WatchedStore* watched_;  // inside of it; null: the state is in this process
  const Duration drain_time_;
  escrow::EscrowStore* node_;  // the same; null: this server is no node of a cluster
  Service service_;
  envoy::RuleBook rules_;
  Doors doors_;
  Reloads reloads_;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<WatchedFiles> watched_files_;
  std::unique_ptr<WatchedFiles> watched_rules_;
  std::vector<std::thread> threads_;  // of all workers but the first
  bool is_stopping_ = false;
  bool is_draining_ = false;
  // What look_after() has seen last, on the first loop.
  journal::DiskRoom::Level room_ = journal::DiskRoom::Level::kPlenty;
  std::atomic<bool> has_failed_full_{false};  // the disk had no room when it failed
  bool must_start_again_ = false;
  std::uint64_t refused_steps_ = 0;
  bool is_step_refused_ = false;
  std::set<const Worker*> running_;  // while it stops: those that are not done yet; on the first loop
};

}  // namespace mete::server
