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
#include "server/configuration/config_draft.h"
#include "server/configuration/config_settings.h"
#include "server/decisions/wait_queue.h"
#include "server/doors/grpc/grpc_session.h"
#include "server/doors/http/http_session.h"
#include "server/doors/resp/resp_session.h"
#include "server/limits/limit_reload.h"
#include "server/observation/readings.h"
#include "server/observation/server_log.h"
#include "server/running/background.h"
#include "server/running/systemd.h"
#include "server/running/worker.h"
#include "store/away/watched_store.h"
#include "sync/worker.h"

namespace mete::server {

namespace {

// After this long, what has not been sent is given up.
constexpr Duration kStopTime = std::chrono::seconds(10);
// An HTTP client that sends nothing holds a connection for this long, and a request may take so long to arrive.
constexpr Duration kHttpIdleMax = std::chrono::seconds(75);
constexpr Duration kHttpRequestMax = std::chrono::seconds(10);
constexpr Duration kLookEvery = std::chrono::seconds(1);
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

// Each connection is a descriptor: as many as the configuration allows for each door, if the system does. It is told
// where there are too few for one of them.
void raise_descriptor_limit(const Config& config, base::Log& log) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t of_door = config.max_connections + Places::kReserve;
  const rlim_t doors = static_cast<rlim_t>(!config.resp.empty()) + static_cast<rlim_t>(!config.http.empty()) +
                       static_cast<rlim_t>(!config.grpc.empty());
  const rlim_t wanted = doors * of_door + kOtherDescriptors;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (limit.rlim_max < wanted) {  // Root may raise that one too.
    rlimit raised{wanted, wanted};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return;
    if (limit.rlim_max < of_door + kOtherDescriptors) {
      log.warning("fewer connections than max_connections: the system's limit of open files is lower",
                  {{"limit", limit.rlim_max}, {"wanted", wanted}});
    }
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

// By which the HTTP API is called: those of the configuration, and of the addresses that it listens on.
std::vector<std::string> host_names(const Config& config) {
  std::vector<std::string> names = config.http_hosts;
  for (const std::string& text : config.http) {
    const auto address = net::parse_address(text);
    if (address && !address->is_unix()) names.push_back(address->host);
  }
  return names;
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
      node_(startup.node),
      service_(*store_, startup.config, make_workers(startup.config, *store_)),
      http_api_(*store_, {.metrics = [this] { return prometheus_text(service_); },
                          .why_not_ready = [this] { return service_.why_not_ready(); },
                          .doorkeeper = &service_.doorkeeper,
                          .hosts = host_names(service_.config),
                          .syncs = &service_.syncs,
                          .waits = &service_.waits}),
      grpc_hooks_{.why_not_ready = [this] { return service_.why_not_ready(); },
                  .doorkeeper = &service_.doorkeeper,
                  .waits = &service_.waits,
                  .rules = startup.config.envoy_config.empty() ? nullptr : &rule_book_},
      tls_(std::move(startup.tls)) {
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
  if (watched_ != nullptr) watched_->on_loss([this] { return define_again(); });
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

  TRY(load_rules());
  raise_descriptor_limit(service_.config, log_);
  make_protocols();
  TRY(listen());
  net::EventLoop& loop = service_.workers[0]->loop;
  signals_ = std::make_unique<Signals>(loop, *this);
  watched_files_ = std::make_unique<WatchedFiles>(loop, [this] { reload(); });
  watch_files(service_.config);
  if (const std::string& rules = service_.config.envoy_config; !rules.empty()) {
    watched_rules_ = std::make_unique<WatchedFiles>(loop, [this] { reload_rules(); });
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

void Server::make_protocols() {
  for (const Language language : kLanguages) {
    of(language, protocols_) = make_protocol(language, Places::Place::kUsual);
    of(language, reserved_protocols_) = make_protocol(language, Places::Place::kReserved);
  }
}

net::Protocol Server::make_protocol(Language language, Places::Place place) {
  const Config& config = service_.config;
  const bool is_reserved = place == Places::Place::kReserved;
  Places& places = of(language, service_.places);
  net::Protocol protocol;
  protocol.on_known = [&places](std::uint64_t id) { places.note_known(id); };
  protocol.on_closed = [this, &places, place](std::uint64_t id) {
    --service_.connections_open;
    places.take_back(id, place);
  };
  if (tls_) {
    // What goes through a Unix socket never leaves the machine: it stays plain text.
    const char* const spoken = language == Language::kHttp ? "http/1.1" : language == Language::kGrpc ? "h2" : nullptr;
    protocol.make_transport = [this, spoken](int socket) -> std::unique_ptr<net::Transport> {
      if (net::local_address(socket).family() == AF_UNIX) return nullptr;
      const std::lock_guard lock(tls_mutex_);
      return tls_->make_transport(socket, spoken);
    };
  }
  net::ConnectionLimits& limits = protocol.limits;
  limits.output_max = config.output_buffer_max;
  limits.idle_max = config.idle_timeout == Duration() ? Duration::never() : config.idle_timeout;
  limits.stranger_max = config.authentication_timeout;
  if (language == Language::kResp) {
    limits.input_max = config.query_buffer_max;
    protocol.make_session = [this, is_reserved](net::ConnectionSet& set, std::uint64_t id, int socket) {
      return make_resp_session(worker_of(set), id, socket, is_reserved);
    };
    return protocol;
  }
  if (language == Language::kGrpc) {
    protocol.make_session = [this, is_reserved](net::ConnectionSet& set, std::uint64_t id, int socket) {
      return make_grpc_session(worker_of(set), id, socket, is_reserved);
    };
    return protocol;
  }
  limits.input_max = config.http_header_max + config.http_body_max * 2;  // a body in chunks is longer than itself
  limits.stranger_input_max = std::min(limits.input_max, config.http_header_max + wire::kTargetBytesMax);
  limits.idle_max = std::min(limits.idle_max, kHttpIdleMax);
  limits.request_max = kHttpRequestMax;
  // Copied: the event loops must not read the configuration, which a reload replaces.
  const wire::HttpLimits http_limits{config.http_header_max, config.http_body_max};
  protocol.make_session = [this, is_reserved, http_limits](net::ConnectionSet& set, std::uint64_t id, int socket) {
    return make_http_session(worker_of(set), id, socket, is_reserved, http_limits);
  };
  return protocol;
}

std::unique_ptr<net::Session> Server::make_resp_session(Worker& worker, std::uint64_t id, int socket,
                                                        bool is_reserved) {
  const net::SocketAddress peer = net::peer_address(socket);
  auto client = std::make_shared<Client>();
  client->id = id;
  client->worker = &worker;
  client->socket = socket;
  client->address = peer.to_string();
  client->local_address = net::local_address(socket).to_string();
  client->source = GuessSource::of_peer(socket);
  client->is_reserved = is_reserved;
  client->connected_at_ns = worker.loop.now_ns();
  client->active_at_ns = client->connected_at_ns;
  return std::make_unique<RespSession>(service_, worker, std::move(client));
}

std::unique_ptr<net::Session> Server::make_http_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved,
                                                        const wire::HttpLimits& limits) {
  const net::SocketAddress peer = net::peer_address(socket);
  HttpLater later;
  if (!service_.is_store_elsewhere) {
    later.run_beside = [this, &worker, id, source = GuessSource::of_peer(socket)](bool is_admins,
                                                                                  std::function<std::string()> work) {
      auto task = [&worker, id, work = std::move(work)] { worker.answer(id, {work()}); };
      return is_admins ? service_.background.run_first(std::move(task))
                       : service_.background.run(source, std::move(task));
    };
  }
  later.answer_late = [&worker, id](std::string bytes) {
    worker.answer_after(kWrongPasswordDelay, id, std::move(bytes));
  };
  later.gate = &worker.gate;
  HttpReports reports;
  const std::string address = peer.to_string();
  reports.wrong_password = wrong_password_reporter(address);
  reports.protocol_error = [this, address](std::string_view reason) {
    service_.security.note_protocol_error(address, reason);
  };
  // A browser on the way of another name finds a certificate that does not fit it.
  const bool may_be_named = tls_ != nullptr && net::local_address(socket).family() != AF_UNIX;
  const HttpClient client{
      .source = GuessSource::of_peer(socket), .is_reserved = is_reserved, .may_be_named = may_be_named};
  return std::make_unique<HttpSession>(http_api_, worker.metrics, limits, std::move(later), std::move(reports), client);
}

std::unique_ptr<net::Session> Server::make_grpc_session(Worker& worker, std::uint64_t id, int socket,
                                                        bool is_reserved) {
  GrpcLater later;
  if (worker.connections.fibers() != nullptr) {
    later.run_waiting = [&worker](std::function<void()> work) { worker.run_waiting(std::move(work)); };
  }
  later.after = [&worker](Duration delay, std::function<void()> work) { worker.loop.after(delay, std::move(work)); };
  later.wake = [&worker, id] { worker.connections.with(id, [](net::Connection& connection) { connection.wake(); }); };
  later.gate = &worker.gate;
  const net::SocketAddress peer = net::peer_address(socket);
  const std::string address = peer.to_string();
  GrpcReports reports;
  reports.wrong_password = wrong_password_reporter(address);
  reports.protocol_error = [this, address](std::string_view reason) {
    service_.security.note_protocol_error(address, reason);
  };
  const GrpcClient client{.source = GuessSource::of_peer(socket), .is_reserved = is_reserved};
  return std::make_unique<GrpcSession>(*store_, grpc_hooks_, worker.metrics, std::move(later), std::move(reports),
                                       client);
}

std::function<void(Admission::Outcome)> Server::wrong_password_reporter(const std::string& address) {
  return [this, address](Admission::Outcome outcome) {
    if (outcome == Admission::Outcome::kNotLookedAt) {
      service_.security.note_not_looked_at(address);
    } else {
      service_.security.note_wrong_password(address);
    }
  };
}

Worker& Server::worker_of(const net::ConnectionSet& set) {
  const auto found = std::find_if(service_.workers.begin(), service_.workers.end(),
                                  [&](const auto& worker) { return &worker->connections == &set; });
  CHECK(found != service_.workers.end());
  return **found;
}

Result<void> Server::listen() {
  for (PassedSocket& passed : take_passed_sockets()) {
    const Language language = passed.name == "resp"   ? Language::kResp
                              : passed.name == "http" ? Language::kHttp
                                                      : Language::kGrpc;
    TRY(check_exposure(net::local_address(passed.socket.get())));
    add_listener(std::move(passed.socket), language);
  }
  const Config& config = service_.config;
  const ByLanguage<const std::vector<std::string>*> configured = {&config.resp, &config.http, &config.grpc};
  for (const Language language : kLanguages) {
    if (!of(language, addresses_).empty()) continue;  // its sockets were passed
    TRY(listen(*configured[static_cast<std::size_t>(language)], language));
  }
  if (listeners_.empty()) {
    return base::invalid("nothing to listen on: set --resp, --http or --grpc");
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
  const bool knows_its_clients = service_.doorkeeper.is_needed() || !config.tls_client_ca.empty();
  if (address.is_local() || knows_its_clients || config.insecure) return {};
  return base::invalid("refusing to listen on " + address.to_string() +
                       ": other machines can reach it, and whoever does could do everything. Set --password (or "
                       "password_file) or --tls-client-ca, or say --insecure");
}

void Server::warn_if_open_to_all(const net::SocketAddress& address) {
  const bool knows_its_clients = service_.doorkeeper.is_needed() || !service_.config.tls_client_ca.empty();
  if (address.is_local() || knows_its_clients) return;
  log_.warning("whoever can connect may do everything: set server.password or server.tls.client_ca",
               {{"address", address.to_string()}});
}

void Server::add_listener(net::Descriptor socket, Language language) {
  auto listener = std::make_unique<net::Listener>(
      service_.workers[0]->loop, std::move(socket),
      [this, language](net::Descriptor client) { accept(std::move(client), language); },
      [this](const std::string& problem) {
        log_.error("cannot accept connections", {{"reason", problem}});
      });
  const std::string address = listener->address().to_string();
  warn_if_open_to_all(listener->address());
  of(language, addresses_).push_back(address);
  if (language == Language::kResp && service_.resp_port == 0 && !address.starts_with("unix:")) {
    service_.resp_port = std::stoi(address.substr(address.rfind(':') + 1));
  }
  listeners_.push_back(std::move(listener));
}

void Server::accept(net::Descriptor socket, Language language) {
  Worker& worker = *service_.workers[next_worker_++ % service_.workers.size()];
  const std::uint64_t id = next_connection_++;
  const Places::Given given = of(language, service_.places).give({id, &worker}, service_.connections_max);
  if (given.place == Places::Place::kNone) {
    ++service_.connections_refused;
    // A client of gRPC takes the end of the connection for UNAVAILABLE.
    ByLanguage<const std::string_view> words = {
        "-ERR max number of clients reached\r\n",
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", ""};
    const std::string_view refusal = of(language, words);
    std::ignore = ::send(socket.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    log_.warning("connection refused: max_connections is reached",
                 {{"max_connections", service_.connections_max.load()}});
    return;
  }
  if (given.evicted) {
    ++service_.strangers_evicted;
    log_.warning("all connections are taken: one that had not authenticated was closed for another",
                 {{"max_connections", service_.connections_max.load()}});
    given.evicted->worker->reach(given.evicted->id, [](net::Connection& connection) {
      if (connection.is_stranger()) connection.close();
    });
  }
  ++service_.connections_open;
  ++service_.connections_accepted;
  const bool is_reserved = given.place == Places::Place::kReserved;
  const net::Protocol& protocol = of(language, is_reserved ? reserved_protocols_ : protocols_);
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
  const auto& [resp, http, grpc] = addresses_;
  Banner banner{.resp = resp,
                .http = http,
                .grpc = grpc,
                .has_tls = tls_ != nullptr,
                .wants_client_certificate = !config.tls_client_ca.empty(),
                .needs_password = service_.doorkeeper.is_needed(),
                .data_directory = config.data_directory(),
                .store_url = config.is_memory_only() ? "" : without_password(config.store_location())};
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
  reload_if_due();
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

void Server::stop() {
  if (is_stopping_) return;
  is_stopping_ = true;
  service_.is_ready = false;
  notify_manager("STOPPING=1");
  log_.info("stopping", {{"connections", service_.connections_open.load()}});
  listeners_.clear();
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

Result<void> Server::load_rules() {
  const std::string& path = service_.config.envoy_config;
  if (path.empty()) return {};
  TRY(rule_book_.load(path));
  log_.info("rules for Envoy read", {{"path", path}, {"rules", rule_book_.rules()->count()}});
  return {};
}

void Server::reload_rules() {
  if (is_stopping_) return;
  const bool is_queued = service_.background.run_first([this] {
    const auto loaded = load_rules();
    if (!loaded) {
      log_.error("rules for Envoy not read again: those from before stay in force",
                 {{"reason", loaded.error().message}});
    }
  });
  if (!is_queued) log_.error("rules for Envoy not read again: too much is waiting to be done", {});
}

void Server::reload_if_due() {
  if (!is_reload_due_) return;
  const auto remote = store_->remote();
  if (!remote || remote->is_reachable) reload();
}

void Server::reload() {
  if (is_stopping_) return;
  reload_rules();
  auto next = load_config(sources_);
  if (!next) {
    is_reload_due_ = false;
    ++service_.reloads.failed;
    log_.error("configuration not reloaded: nothing has changed", {{"reason", next.error().message}});
    return;
  }
  watch_files(*next);
  // Changing limits looks at every meter: that is not done on an event loop.
  const bool is_queued = service_.background.run_first([this, config = std::move(*next)] { finish_reload(config); });
  if (!is_queued) log_.error("configuration not reloaded: too much is waiting to be done", {});
}

void Server::finish_reload(const Config& next) {
  const std::lock_guard defining(limits_mutex_);
  auto certificate = load_certificate();
  if (!certificate) return refuse_reload(certificate.error());
  std::vector<FileLimit> previous;
  bool is_same = false;
  {
    const std::lock_guard lock(service_.config_mutex);
    is_same = service_.config == next;
    // Where it listens stays as it is until the next start: it must be guarded until then.
    if (const auto conflict = find_conflict(in_effect(service_.config, next))) {
      return refuse_reload(base::invalid(next.place_of(conflict->setting) + ": " + conflict->message));
    }
    previous = service_.config.limits;
    if (const auto ok = replace_peer_credentials(in_effect(service_.config, next)); !ok) {
      return refuse_reload(ok.error());
    }
  }
  const auto changes = apply_limits(*store_, {.previous = previous,
                                              .next = next.limits,
                                              .removed_max = next.removed_limits_max,
                                              .drops_removed = next.removed_limits == "drop"});
  if (!changes) return refuse_reload(changes.error());
  is_reload_due_ = false;
  reload_refusal_.clear();
  // Nothing refuses the reload any more.
  replace_certificate(*std::move(certificate));
  if (is_same && *changes == LimitChanges{}) return;
  {
    const std::lock_guard lock(service_.config_mutex);
    for (const std::string_view name : changes_for_restart(service_.config, next)) {
      log_.warning("this setting takes effect at the next start", {{"setting", name}});
    }
    replace_passwords(next);
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

// One that a store elsewhere has refused for the moment is tried again once that answers, and said once per reason.
void Server::refuse_reload(const Error& error) {
  const bool was_due = is_reload_due_;
  is_reload_due_ = error.code == ErrorCode::kUnavailable && store_->remote().has_value();
  const bool is_said = std::exchange(reload_refusal_, error.message) == error.message;
  if (was_due && is_said && is_reload_due_) return;
  ++service_.reloads.failed;
  if (is_reload_due_) {
    log_.error("configuration not reloaded yet: it is tried again when the store answers", {{"reason", error.message}});
  } else {
    log_.error("configuration not reloaded: nothing has changed", {{"reason", error.message}});
  }
}

Result<void> Server::define_again() {
  const std::lock_guard defining(limits_mutex_);
  std::vector<FileLimit> limits;
  {
    const std::lock_guard lock(service_.config_mutex);
    limits = service_.config.limits;
  }
  TRY(store_->look_again());
  const auto changes = TRY(apply_limits(*store_, {.previous = {}, .next = limits}));
  log_.info("the limits of the configuration are defined again",
            {{"added", join(changes.added)}, {"changed", join(changes.changed)}});
  service_.waits.nudge_all();
  return {};
}

Result<std::shared_ptr<net::TlsContext>> Server::load_certificate() {
  net::TlsFiles files;
  {
    const std::lock_guard lock(service_.config_mutex);
    const Config& config = service_.config;
    files = {config.tls_cert, config.tls_key, config.tls_client_ca};
  }
  if (files.certificate.empty()) return std::shared_ptr<net::TlsContext>();
  return net::TlsContext::load(files);
}

void Server::replace_certificate(std::shared_ptr<net::TlsContext> certificate) {
  if (certificate == nullptr) return;
  const std::lock_guard lock(tls_mutex_);
  tls_ = std::move(certificate);
}

Result<void> Server::replace_peer_credentials(const Config& next) {
  if (node_ == nullptr) return {};
  node_->set_credentials(TRY(peer_credentials(next)));
  return {};
}

void Server::replace_passwords(const Config& next) {
  const Config& running = service_.config;
  if (running.password == next.password && running.use_password == next.use_password &&
      running.look_password == next.look_password) {
    return;
  }
  const bool was_needed = service_.doorkeeper.is_needed();
  service_.doorkeeper.replace(next.passwords());
  std::size_t closed = 0;
  service_.clients.for_each([&](const Client& client) {
    const bool has_no_role_yet = was_needed && client.credential == 0;
    if (has_no_role_yet || service_.doorkeeper.role_of(client.credential) == client.role) return;
    ++closed;
    client.worker->reach(client.id, [](net::Connection& connection) { connection.close(); });
  });
  log_.info("passwords replaced", {{"connections_closed", closed}});
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
