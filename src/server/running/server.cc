#include "server/running/server.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/try.h"
#include "escrow/escrow_store.h"
#include "server/configuration/config_settings.h"
#include "server/decisions/wait_queue.h"
#include "server/doors/http/http_session.h"
#include "server/doors/resp/resp_session.h"
#include "server/limits/limit_reload.h"
#include "server/observation/readings.h"
#include "server/observation/server_log.h"
#include "server/running/background.h"
#include "server/running/systemd.h"
#include "server/running/worker.h"
#include "sync/worker.h"

namespace mete::server {

namespace {

// After this long, what has not been sent is given up.
constexpr Duration kStopTime = std::chrono::seconds(10);
// An HTTP client that sends nothing holds a connection for this long, and a request may take so long to arrive.
constexpr Duration kHttpIdleMax = std::chrono::seconds(75);
constexpr Duration kHttpRequestMax = std::chrono::seconds(10);
// Descriptors that are not connections: listeners, event loops, files.
constexpr std::size_t kOtherDescriptors = 64;

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

// Each connection is a descriptor: as many as the configuration allows, if the system does.
void raise_descriptor_limit(std::size_t connections_max, base::Log& log) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = connections_max + kOtherDescriptors;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (limit.rlim_max < wanted) {  // Root may raise that one too.
    rlimit raised{wanted, wanted};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return;
    log.warning("fewer connections than max_connections: the system's limit of open files is lower",
                {{"limit", limit.rlim_max}, {"wanted", wanted}});
  }
  ::setrlimit(RLIMIT_NOFILE, &limit);
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

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<sync::Plan> plans_of(const Config& config) {
  std::vector<sync::Plan> plans;
  for (const FileSync& each : config.syncs) plans.push_back(each.plan);
  return plans;
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
        server_.reload();
      } else {
        server_.service_.shut_down();
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
      service_(*store_, startup.config, make_workers(startup.config, *store_)),
      http_api_(*store_,
                {.metrics = [this] { return prometheus_text(service_); },
                 .is_ready = [this] { return service_.is_ready.load(); },
                 .authenticate = [this](std::string_view token) { return service_.authentication.role_of(token); },
                 .needs_authentication = service_.authentication.is_needed(),
                 .syncs = &service_.syncs,
                 .on_change = [this] { service_.waits.nudge_all(); }}),
      tls_(std::move(startup.tls)) {
  if (startup.node != nullptr) service_.cluster_status = [node = startup.node] { return node->status(); };
}

Server::~Server() {
  for (std::thread& thread : threads_) thread.join();
}

Result<void> Server::prepare() {
  service_.started_at_ns = base::monotonic_ns();
  service_.started_unix_seconds = store_->now().unix_seconds();
  service_.run_id = base::random_id();
  service_.is_store_elsewhere = store_->remote().has_value() && !store_->draws_shares();
  service_.config_file = sources_.file;
  service_.store_name =
      service_.config.is_memory_only() ? "memory" : without_password(service_.config.store_location());
  // Not on the spot: the listeners go, and events may be on their way to them.
  service_.shut_down = [this] { service_.workers[0]->loop.post([this] { stop(); }); };
  service_.apply_config = [this] { apply_settings(); };
  service_.security.set_log(log_);
  service_.on_sync_end = [this](const sync::RunRecord& record) { log_sync(record, log_); };
  apply_settings();
  TRY(service_.syncs.set_plans(plans_of(service_.config)));
  service_.watch_persistence([this](const Error& failure) {
    log_.error("the disk has failed: nothing that must reach it is acknowledged any more",
               {{"reason", failure.message}, {"remedy", "free space on the disk or replace it, then restart"}});
  });
  if (store::Persistence* persistence = store_->persistence()) log_recovery(persistence->status(), log_);
  service_.reloads.last_success_unix_seconds = service_.started_unix_seconds;

  raise_descriptor_limit(service_.config.max_connections, log_);
  make_protocols();
  TRY(listen());
  net::EventLoop& loop = service_.workers[0]->loop;
  signals_ = std::make_unique<Signals>(loop, *this);
  if (!sources_.file.empty()) {
    watched_config_ = std::make_unique<WatchedFile>(loop, sources_.file, [this] { reload(); });
  }
  return {};
}

void Server::make_protocols() {
  const Config& config = service_.config;
  const auto on_closed = [this] { --service_.connections_open; };
  std::function<std::unique_ptr<net::Transport>(int)> make_transport;
  if (tls_) {
    // What goes through a Unix socket never leaves the machine: it stays plain text.
    make_transport = [this](int socket) {
      return net::local_address(socket).family() == AF_UNIX ? nullptr : tls_->make_transport(socket);
    };
  }
  const Duration idle = config.idle_timeout == Duration() ? Duration::never() : config.idle_timeout;

  resp_.make_transport = make_transport;
  resp_.on_closed = on_closed;
  resp_.limits.input_max = config.query_buffer_max;
  resp_.limits.output_max = config.output_buffer_max;
  resp_.limits.idle_max = idle;
  resp_.make_session = [this](net::ConnectionSet& set, std::uint64_t id, int socket) -> std::unique_ptr<net::Session> {
    Worker& worker = worker_of(set);
    auto client = std::make_shared<Client>();
    client->id = id;
    client->worker = &worker;
    client->socket = socket;
    client->address = net::peer_address(socket).to_string();
    client->local_address = net::local_address(socket).to_string();
    client->connected_at_ns = set.loop().now_ns();
    client->active_at_ns = client->connected_at_ns;
    return std::make_unique<RespSession>(service_, worker, std::move(client));
  };

  http_.make_transport = make_transport;
  http_.on_closed = on_closed;
  http_.limits.input_max = config.http_header_max + config.http_body_max * 2;  // a body in chunks is longer than itself
  http_.limits.output_max = config.output_buffer_max;
  http_.limits.idle_max = std::min(idle, kHttpIdleMax);
  http_.limits.request_max = kHttpRequestMax;
  // Copied: the event loops must not read the configuration, which a reload replaces.
  const wire::HttpLimits limits{config.http_header_max, config.http_body_max};
  http_.make_session = [this, limits](net::ConnectionSet& set, std::uint64_t id,
                                      int socket) -> std::unique_ptr<net::Session> {
    Worker& worker = worker_of(set);
    HttpLater later;
    if (!service_.is_store_elsewhere) {
      later.run_beside = [this, &worker, id](std::function<std::string()> work) {
        return service_.background.run([&worker, id, work = std::move(work)] { worker.answer(id, {work()}); });
      };
    }
    later.answer_late = [&worker, id](std::string bytes) {
      worker.answer_after(kWrongPasswordDelay, id, std::move(bytes));
    };
    later.gate = &worker.gate;
    HttpReports reports;
    const std::string address = net::peer_address(socket).to_string();
    reports.wrong_password = [this, address] { service_.security.note_wrong_password(address); };
    reports.protocol_error = [this, address](std::string_view reason) {
      service_.security.note_protocol_error(address, reason);
    };
    return std::make_unique<HttpSession>(http_api_, worker.metrics, limits, std::move(later), std::move(reports));
  };
}

Worker& Server::worker_of(const net::ConnectionSet& set) {
  const auto found = std::find_if(service_.workers.begin(), service_.workers.end(),
                                  [&](const auto& worker) { return &worker->connections == &set; });
  CHECK(found != service_.workers.end());
  return **found;
}

Result<void> Server::listen() {
  bool has_resp = false;
  bool has_http = false;
  for (PassedSocket& passed : take_passed_sockets()) {
    const bool is_resp = passed.name == "resp";
    (is_resp ? has_resp : has_http) = true;
    TRY(check_exposure(net::local_address(passed.socket.get())));
    add_listener(std::move(passed.socket), is_resp ? Language::kResp : Language::kHttp);
  }
  if (!has_resp) {
    TRY(listen(service_.config.resp, Language::kResp));
  }
  if (!has_http) {
    TRY(listen(service_.config.http, Language::kHttp));
  }
  if (listeners_.empty()) {
    return base::invalid("nothing to listen on: set --resp or --http");
  }
  return {};
}

Result<void> Server::listen(const std::vector<std::string>& addresses, Language language) {
  for (const std::string& text : addresses) {
    const auto address = TRY(net::parse_address(text));
    const auto resolved = TRY(net::resolve(address));
    for (const net::SocketAddress& one : resolved) {
      TRY(check_exposure(one));
    }
    auto sockets = TRY(net::listen_on(address));
    for (net::Descriptor& socket : sockets) {
      add_listener(std::move(socket), language);
      listeners_.back()->own_path();
    }
  }
  return {};
}

// Whoever reaches the port could use up every limit.
Result<void> Server::check_exposure(const net::SocketAddress& address) const {
  const Config& config = service_.config;
  const bool is_guarded = service_.authentication.is_needed() || !config.tls_cert.empty();
  if (address.is_local() || is_guarded || config.insecure) return {};
  return base::invalid("refusing to listen on " + address.to_string() +
                       ": other machines can reach it, and there is neither a password nor a certificate. Set "
                       "--password (or password_file) or --tls-cert and --tls-key, or say --insecure");
}

void Server::warn_if_open_to_all(const net::SocketAddress& address) {
  const bool knows_its_clients = service_.authentication.is_needed() || !service_.config.tls_client_ca.empty();
  if (address.is_local() || knows_its_clients) return;
  log_.warning("whoever can connect may do everything: set server.password or server.tls.client_ca",
               {{"address", address.to_string()}});
}

void Server::add_listener(net::Descriptor socket, Language language) {
  const net::Protocol& protocol = language == Language::kResp ? resp_ : http_;
  auto listener = std::make_unique<net::Listener>(
      service_.workers[0]->loop, std::move(socket),
      [this, &protocol, language](net::Descriptor client) { accept(std::move(client), protocol, language); },
      [this](const std::string& problem) {
        log_.error("cannot accept connections", {{"reason", problem}});
      });
  const std::string address = listener->address().to_string();
  warn_if_open_to_all(listener->address());
  (language == Language::kResp ? resp_addresses_ : http_addresses_).push_back(address);
  if (language == Language::kResp && service_.resp_port == 0 && !address.starts_with("unix:")) {
    service_.resp_port = std::stoi(address.substr(address.rfind(':') + 1));
  }
  listeners_.push_back(std::move(listener));
}

void Server::accept(net::Descriptor socket, const net::Protocol& protocol, Language language) {
  if (service_.connections_open >= service_.connections_max) {
    ++service_.connections_refused;
    const std::string_view words =
        language == Language::kResp
            ? "-ERR max number of clients reached\r\n"
            : "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    std::ignore = ::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    log_.warning("connection refused: max_connections is reached",
                 {{"max_connections", service_.connections_max.load()}});
    return;
  }
  ++service_.connections_open;
  ++service_.connections_accepted;
  Worker& worker = *service_.workers[next_worker_++ % service_.workers.size()];
  const std::uint64_t id = next_connection_++;
  if (&worker == service_.workers[0].get()) {
    worker.connections.add(std::move(socket), id, protocol);
    return;
  }
  auto handed_over = std::make_shared<net::Descriptor>(std::move(socket));
  worker.loop.post(
      [&worker, handed_over, id, &protocol] { worker.connections.add(std::move(*handed_over), id, protocol); });
}

Banner Server::banner() const {
  const Config& config = service_.config;
  Banner banner{.resp = resp_addresses_,
                .http = http_addresses_,
                .has_tls = tls_ != nullptr,
                .wants_client_certificate = !config.tls_client_ca.empty(),
                .needs_password = service_.authentication.is_needed(),
                .data_directory = config.data_directory(),
                .store_url = config.is_memory_only() ? "" : without_password(config.store_location())};
  banner.limits = store_->limits().value_or(std::vector<std::string>());
  return banner;
}

void Server::run() {
  start_workers();
  service_.is_ready = true;
  notify_manager("READY=1");
  log_.info("ready", {});
  service_.workers[0]->run();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  log_.info("stopped", {});
}

void Server::start_workers() {
  for (std::size_t index = 1; index < service_.workers.size(); ++index) {
    threads_.emplace_back([&worker = *service_.workers[index]] { worker.run(); });
  }
}

void Server::stop() {
  if (is_stopping_) return;
  is_stopping_ = true;
  service_.is_ready = false;
  notify_manager("STOPPING=1");
  log_.info("stopping", {{"connections", service_.connections_open.load()}});
  listeners_.clear();
  watched_config_.reset();
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

void Server::reload() {
  if (is_stopping_) return;
  auto next = load_config(sources_);
  if (!next) {
    ++service_.reloads.failed;
    log_.error("configuration not reloaded: nothing has changed", {{"reason", next.error().message}});
    return;
  }
  // Changing limits looks at every meter: that is not done on an event loop.
  const bool is_queued = service_.background.run([this, config = std::move(*next)] { finish_reload(config); });
  if (!is_queued) log_.error("configuration not reloaded: too much is waiting to be done", {});
}

void Server::finish_reload(const Config& next) {
  std::vector<FileLimit> previous;
  {
    const std::lock_guard lock(service_.config_mutex);
    if (service_.config == next) return;
    previous = service_.config.limits;
  }
  const auto changes = apply_limits(*store_, {.previous = previous, .next = next.limits});
  if (!changes) {
    ++service_.reloads.failed;
    log_.error("configuration not reloaded: nothing has changed", {{"reason", changes.error().message}});
    return;
  }
  {
    const std::lock_guard lock(service_.config_mutex);
    for (const std::string_view name : changes_for_restart(service_.config, next)) {
      log_.warning("this setting takes effect at the next start", {{"setting", name}});
    }
    service_.config = in_effect(service_.config, next);
    apply_settings();
  }
  // What is wrong with a schedule was found when the file was read; but its zone's file may have gone since.
  if (const auto set = service_.syncs.set_plans(plans_of(next)); !set) {
    log_.error("syncs not reloaded: they go on as before", {{"reason", set.error().message}});
  }
  ++service_.reloads.succeeded;
  service_.reloads.last_success_unix_seconds = store_->now().unix_seconds();
  service_.waits.nudge_all();
  log_.info(
      "configuration reloaded",
      {{"added", join(changes->added)}, {"changed", join(changes->changed)}, {"removed", join(changes->removed)}});
}

void Server::apply_settings() {
  const Config& config = service_.config;
  service_.connections_max = config.max_connections;
  const Duration slow = config.slowlog_threshold == Duration() ? Duration::never() : config.slowlog_threshold;
  service_.slow_threshold_ns = slow.ns();
  set_log(log_, config);
}

}  // namespace mete::server
