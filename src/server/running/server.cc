#include "server/running/server.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/try.h"
#include "escrow/escrow_store.h"
#include "server/configuration/config_settings.h"
#include "server/decisions/wait_queue.h"
#include "server/observation/server_log.h"
#include "server/running/systemd.h"
#include "server/running/worker.h"
#include "store/away/watched_store.h"
#include "sync/worker.h"

namespace mete::server {

namespace {

// After this long, what has not been sent is given up.
constexpr Duration kStopTime = std::chrono::seconds(10);
constexpr Duration kLookEvery = std::chrono::seconds(1);

// An event loop with few connections wakes up for each of their requests, one with many for several at a time: so there
// are fewer loops than cores.
std::vector<std::unique_ptr<Worker>> make_workers(const Config& config, const store::Store& store) {
  const std::size_t cores = std::thread::hardware_concurrency();
  const std::size_t count = config.threads != 0 ? config.threads : std::clamp<std::size_t>(cores / 2, 1, 16);
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t index = 0; index < count; ++index) {
    workers.push_back(std::make_unique<Worker>(store.remote().has_value()));
  }
  return workers;
}

sigset_t handled_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  return signals;
}

// Every thread inherits this, so it comes before the first of them: signals are read as events, and a client that has
// gone is no reason to die, nor is a file that may not grow any more: that is a write that fails.
void take_over_signals() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);  // NOLINT(cert-err33-c)
  const sigset_t signals = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void set_log(base::Log& log, const Config& config) {
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const bool is_text = config.log_format == "text" || (config.log_format == "auto" && is_terminal);
  log.set(is_text ? base::LogFormat::kText : base::LogFormat::kJson,
          base::parse_log_level(config.log_level).value_or(base::LogLevel::kInfo));
}

}  // namespace

// Signals as events of the first loop.
class Server::Signals final : public net::EventHandler {
 public:
  Signals(net::EventLoop& loop, Server& server) : loop_(loop), server_(server) {
    const sigset_t signals = handled_signals();
    fd_ = net::Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    CHECK(fd_.is_open());
    CHECK(loop_.watch(fd_.get(), EPOLLIN, *this));
  }
  ~Signals() override { loop_.forget(fd_.get()); }

  void on_events(std::uint32_t /*events*/) override {
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGHUP) {
        server_.reloads_.reload();
      } else {
        // Not on the spot: the listeners go, and events may be on their way to them.
        loop_.post([&server = server_] { server.drain(); });
      }
    }
  }

 private:
  net::EventLoop& loop_;
  Server& server_;
  net::Descriptor fd_;
};

Result<std::unique_ptr<Server>> Server::start(const ConfigSources& sources, base::Log& log,
                                              std::function<void(const store::LoadProgress&)> on_load) {
  take_over_signals();
  log.write_beside();
  auto startup = TRY(prepare_start(sources, {.on_config = [&log](const Config& config) { set_log(log, config); },
                                             .on_load = std::move(on_load),
                                             .log = &log}));
  std::unique_ptr<Server> server(new Server(sources, std::move(startup), log));
  TRY(server->prepare());
  return server;
}

Server::Server(ConfigSources sources, Startup startup, base::Log& log)
    : sources_(std::move(sources)),
      log_(log),
      store_(std::move(startup.store)),
      watched_(startup.watched),
      drain_time_(startup.config.drain_time),
      node_(startup.node),
      service_(*store_, startup.config, make_workers(startup.config, *store_)),
      doors_(service_, log, startup.config.envoy_config.empty() ? nullptr : &rules_, std::move(startup.tls)),
      reloads_({.sources = sources_,
                .log = log,
                .store = *store_,
                .node = startup.node,
                .service = service_,
                .rules = rules_,
                .watch_files = [this](const Config& config) { watch_files(config); },
                .apply_settings = [this] { apply_settings(); },
                .replace_certificate =
                    [this](std::shared_ptr<net::TlsContext> next) { doors_.replace_certificate(std::move(next)); }}) {
  if (node_ == nullptr) return;
  service_.cluster_status = [this] { return node_->status(); };
  service_.merge_counters = [this](const escrow::CounterMessage& message) { return node_->merge_counters(message); };
  service_.tell_shares = [this](escrow::ClusterNumber cluster, const escrow::ShareQuestion& question) {
    return node_->answer(cluster, question);
  };
  service_.retire_node = [this](std::string_view name) { return node_->retire(name); };
}

Server::~Server() {
  if (watched_ != nullptr) watched_->on_loss(nullptr);
  for (std::thread& thread : threads_) thread.join();
  service_.end();
}

Result<void> Server::prepare() {
  service_.started_at_ns = base::monotonic_ns();
  service_.started_unix_seconds = store_->now().unix_seconds();
  service_.run_id = base::random_id();
  service_.is_store_elsewhere = store_->remote().has_value() && !store_->draws_shares();
  service_.config_file = sources_.file;
  service_.store_name =
      service_.config.is_memory_only() ? "memory" : without_password(service_.config.store_location());
  // Not on the spot either, for the same reason.
  service_.shut_down = [this] { service_.workers[0]->loop.post([this] { stop(); }); };
  service_.apply_config = [this] { apply_settings(); };
  service_.security.set_log(log_);
  service_.on_sync_end = [this](const sync::RunRecord& record) { log_sync(record, log_); };
  apply_settings();
  if (watched_ != nullptr) watched_->on_loss([this] { return reloads_.define_again(); });
  TRY(service_.syncs.set_plans(plans_of(service_.config)));
  service_.watch_persistence([this](const Error& failure) {
    has_failed_full_ = store_->persistence()->status().room != journal::DiskRoom::Level::kPlenty;
    log_.error(
        "the disk has failed: nothing that must reach it is acknowledged any more",
        {{"reason", failure.message},
         {"remedy", "free space on the disk, and the server ends to be started again; or replace it, then restart"}});
  });
  warn_of_readable_secrets(service_.config, sources_.file, log_);
  if (store::Persistence* persistence = store_->persistence()) log_recovery(persistence->status(), log_);
  service_.reloads.last_success_unix_seconds = service_.started_unix_seconds;

  TRY(reloads_.load_rules());
  TRY(doors_.open());
  net::EventLoop& loop = service_.workers[0]->loop;
  signals_ = std::make_unique<Signals>(loop, *this);
  watched_files_ = std::make_unique<WatchedFiles>(loop, [this] { reloads_.reload(); });
  watch_files(service_.config);
  if (const std::string& rules = service_.config.envoy_config; !rules.empty()) {
    watched_rules_ = std::make_unique<WatchedFiles>(loop, [this] { reloads_.reload_rules(); });
    watched_rules_->watch({rules});
  }
  return {};
}

void Server::watch_files(const Config& config) {
  std::vector<std::string> paths;
  if (!sources_.file.empty()) paths.push_back(sources_.file);
  for (const Setting& setting : settings()) {
    if (setting.kind != SettingKind::kFile) continue;
    const std::string& path = config.*std::get<std::string Config::*>(setting.member);
    if (!path.empty()) paths.push_back(path);
  }
  watched_files_->watch(paths);
}

Banner Server::banner() const {
  const Config& config = service_.config;
  Banner banner;
  doors_.describe(banner);
  banner.data_directory = config.data_directory();
  banner.store_url = config.is_memory_only() ? "" : without_password(config.store_location());
  banner.limits = store_->limits().value_or(std::vector<std::string>());
  return banner;
}

bool Server::run() {
  start_workers();
  look_after();
  service_.is_ready = true;
  notify_manager("READY=1");
  log_.info("ready", {});
  service_.workers[0]->run();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  log_.info("stopped", {});
  return !must_start_again_;
}

void Server::look_after() {
  if (is_stopping_) return;
  look_at_disk();
  look_at_clock();
  reloads_.reload_if_due();
  service_.workers[0]->loop.after(kLookEvery, [this] { look_after(); });
}

void Server::look_at_disk() {
  const store::Persistence* const persistence = store_->persistence();
  if (persistence == nullptr) return;
  using enum journal::DiskRoom::Level;
  const store::PersistenceStatus status = persistence->status();
  const auto before = std::exchange(room_, status.room);
  const base::LogFields fields = {{"free_bytes", status.free_bytes.value_or(0)},
                                  {"reserve_bytes", status.reserve_bytes}};
  if (status.failure && has_failed_full_ && status.room == kPlenty) {
    // What is in memory and what is on the disk differ: only a start brings them together.
    log_.error("the disk has room again: ending, to be started again", fields);
    must_start_again_ = true;
    stop();
    return;
  }
  if (status.room == before) return;
  if (status.room == kNone) {
    log_.error("the disk is nearly full: changes are refused", fields);
  } else if (before == kNone) {
    log_.info("the disk has room again: changes are taken", fields);
    service_.waits.nudge_all();
  } else if (status.room == kScarce) {
    log_.warning("the disk will soon be full", fields);
  }
}

void Server::look_at_clock() {
  const store::ClockStatus status = store_->clock_status();
  const bool is_refused = status.refused_by != Duration();
  const bool is_new = std::exchange(refused_steps_, status.refused_steps) != status.refused_steps;
  const bool was_refused = std::exchange(is_step_refused_, is_refused);
  if (is_new) {
    log_.error(std::string(status.whose) + " clock has stepped, and is not followed",
               {{"by_s", status.refused_by.seconds()},
                {"remedy", "set it right; or, if it is right now, start again (server.clock_step_max)"}});
  } else if (was_refused && !is_refused) {
    log_.info(std::string(status.whose) + " clock is followed again", {});
  }
}

void Server::start_workers() {
  for (std::size_t index = 1; index < service_.workers.size(); ++index) {
    threads_.emplace_back([&worker = *service_.workers[index]] { worker.run(); });
  }
}

// Whoever asks how it does is told not to send anything more here; what comes all the same is served. A second signal
// is no reason to wait on.
void Server::drain() {
  if (is_stopping_ || drain_time_ == Duration() || std::exchange(is_draining_, true)) return stop();
  service_.is_ready = false;
  notify_manager("STOPPING=1");
  log_.info("not ready any more: stopping soon", {{"in_ms", drain_time_.ms()}});
  service_.workers[0]->loop.after(drain_time_, [this] { stop(); });
}

void Server::stop() {
  if (is_stopping_) return;
  is_stopping_ = true;
  service_.is_ready = false;
  notify_manager("STOPPING=1");
  log_.info("stopping", {{"connections", service_.connections_open.load()}});
  doors_.close();
  reloads_.stop();
  watched_files_.reset();
  watched_rules_.reset();
  service_.waits.finish();
  for (const auto& worker : service_.workers) {
    running_.insert(worker.get());
    worker->loop.post([this, &worker = *worker] { stop_worker(worker); });
  }
}

void Server::stop_worker(Worker& worker) {
  net::EventLoop& first_loop = service_.workers[0]->loop;
  const auto finish = [this, &worker, &first_loop] { first_loop.post([this, &worker] { note_stopped(worker); }); };
  worker.connections.finish_all(finish);
  worker.loop.after(kStopTime, [this, &worker, finish] {
    log_.warning("connections that would not end were cut off", {{"connections", worker.connections.size()}});
    finish();
  });
}

// The first loop answers the takes that wait, of all connections: it stops last.
void Server::note_stopped(Worker& worker) {
  running_.erase(&worker);
  if (&worker != service_.workers[0].get()) worker.loop.stop();
  if (running_.empty()) service_.workers[0]->loop.stop();
}

void Server::apply_settings() {
  const Config& config = service_.config;
  if (watched_ != nullptr) {
    watched_->set_when_wiped(config.when_wiped == "closed" ? store::WhenWiped::kClosed : store::WhenWiped::kFresh);
  }
  service_.buffers.set_max(config.clients_memory_max);
  service_.doorkeeper.set_use(!config.use_without_force, !config.use_without_give);
  service_.connections_max = config.max_connections;
  const Duration slow = config.slowlog_threshold == Duration() ? Duration::never() : config.slowlog_threshold;
  service_.slow_threshold_ns = slow.ns();
  set_log(log_, config);
}

}  // namespace mete::server
