#include "server/running/doors.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "server/doors/grpc/grpc_session.h"
#include "server/doors/http/http_session.h"
#include "server/doors/resp/resp_session.h"
#include "server/observation/readings.h"
#include "server/running/background.h"
#include "server/running/service.h"
#include "server/running/systemd.h"
#include "server/running/waited_answer.h"
#include "server/running/worker.h"
#include "store/store.h"

namespace mete::server {

namespace {

// An HTTP client that sends nothing holds a connection for this long, and a request may take so long to arrive.
constexpr Duration kHttpIdleMax = std::chrono::seconds(75);
constexpr Duration kHttpRequestMax = std::chrono::seconds(10);
// Descriptors that are not connections: listeners, event loops, files.
constexpr std::size_t kOtherDescriptors = 64;

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

// By which the HTTP API is called: those of the configuration, and of the addresses that it listens on.
std::vector<std::string> host_names(const Config& config) {
  std::vector<std::string> names = config.http_hosts;
  for (const std::string& text : config.http) {
    const auto address = net::parse_address(text);
    if (address && !address->is_unix()) names.push_back(address->host);
  }
  return names;
}

}  // namespace

Doors::Doors(Service& service, base::Log& log, envoy::RuleBook* rules, std::shared_ptr<net::TlsContext> tls)
    : service_(service),
      log_(log),
      http_api_(service.store, {.metrics = [&service] { return prometheus_text(service); },
                                .why_not_ready = [&service] { return service.why_not_ready(); },
                                .doorkeeper = &service.doorkeeper,
                                .hosts = host_names(service.config),
                                .syncs = &service.syncs,
                                .waits = &service.waits}),
      grpc_hooks_{.why_not_ready = [&service] { return service.why_not_ready(); },
                  .doorkeeper = &service.doorkeeper,
                  .waits = &service.waits,
                  .rules = rules,
                  .adds_response_headers = service.config.envoy_response_headers,
                  .connection_age = service.config.grpc_connection_age,
                  .slow_ns = &service.slow_threshold_ns},
      tls_(std::move(tls)) {}

Result<void> Doors::open() {
  raise_descriptor_limit(service_.config, log_);
  make_protocols();
  return listen();
}

void Doors::replace_certificate(std::shared_ptr<net::TlsContext> certificate) {
  const std::lock_guard lock(tls_mutex_);
  tls_ = std::move(certificate);
}

void Doors::describe(Banner& banner) const {
  const auto& [resp, http, grpc] = addresses_;
  banner.resp = resp;
  banner.http = http;
  banner.grpc = grpc;
  banner.has_tls = tls_ != nullptr;
  banner.wants_client_certificate = !service_.config.tls_client_ca.empty();
  banner.needs_password = service_.doorkeeper.is_needed();
}

void Doors::make_protocols() {
  for (const Language language : kLanguages) {
    of(language, protocols_) = make_protocol(language, Places::Place::kUsual);
    of(language, reserved_protocols_) = make_protocol(language, Places::Place::kReserved);
  }
}

net::Protocol Doors::make_protocol(Language language, Places::Place place) {
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

std::unique_ptr<net::Session> Doors::make_resp_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved) {
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

std::unique_ptr<net::Session> Doors::make_http_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved,
                                                       const wire::HttpLimits& limits) {
  const net::SocketAddress peer = net::peer_address(socket);
  HttpLater later;
  if (!service_.is_store_elsewhere) {
    later.run_beside = [this, &worker, id, source = GuessSource::of_peer(socket)](
                           bool is_admins, std::function<std::string()> work, std::size_t bytes) {
      auto task = [&worker, id, work = std::move(work)] { worker.answer(id, {work()}); };
      return is_admins ? service_.background.run_first(std::move(task))
                       : service_.background.run(source, std::move(task), bytes);
    };
  }
  later.wait = [this, &worker, id, source = GuessSource::of_peer(socket)](
                   const std::shared_ptr<const WaitQueue::Waiter>& waiter, const HttpLater::Write& write) {
    const auto deliver = [this, &worker, id, waiter, write](const Result<core::Verdict>& verdict,
                                                            store::Ticket ticket) {
      LoopMetrics& metrics = service_.workers[0]->metrics;  // of the loop that the queue is on
      answer_waited(service_.waits, worker, id, {waiter, verdict, {write(verdict, metrics), ticket}});
    };
    service_.waits.wait({id, source}, waiter, deliver);
  };
  later.cancel_wait = [this, id] { service_.waits.cancel(id); };
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

std::unique_ptr<net::Session> Doors::make_grpc_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved) {
  GrpcLater later;
  if (worker.connections.fibers() != nullptr) {
    later.run_waiting = [&worker](std::function<void()> work) { worker.run_waiting(std::move(work)); };
  }
  const GuessSource source = GuessSource::of_peer(socket);
  if (!service_.is_store_elsewhere) {
    later.run_beside = [this, &worker, source](std::function<Result<void>()> work,
                                               std::function<void(const Result<void>&)> done) {
      return service_.background.run(source, [&worker, work = std::move(work), done = std::move(done)] {
        worker.loop.post([result = work(), done] { done(result); });
      });
    };
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
  reports.slow = [this, address](std::string_view path, std::int64_t elapsed_ns) {
    service_.slow_log.add(
        {0, service_.store.now().unix_seconds(), elapsed_ns / 1000, {std::string(path)}, address, {}});
  };
  const GrpcClient client{.source = source, .is_reserved = is_reserved};
  return std::make_unique<GrpcSession>(service_.store, grpc_hooks_, worker.metrics, std::move(later),
                                       std::move(reports), client);
}

std::function<void(Admission::Outcome)> Doors::wrong_password_reporter(const std::string& address) {
  return [this, address](Admission::Outcome outcome) {
    if (outcome == Admission::Outcome::kNotLookedAt) {
      service_.security.note_not_looked_at(address);
    } else {
      service_.security.note_wrong_password(address);
    }
  };
}

Worker& Doors::worker_of(const net::ConnectionSet& set) {
  const auto found = std::find_if(service_.workers.begin(), service_.workers.end(),
                                  [&](const auto& worker) { return &worker->connections == &set; });
  CHECK(found != service_.workers.end());
  return **found;
}

Result<void> Doors::listen() {
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

Result<void> Doors::listen(const std::vector<std::string>& addresses, Language language) {
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
Result<void> Doors::check_exposure(const net::SocketAddress& address) const {
  const Config& config = service_.config;
  const bool knows_its_clients = service_.doorkeeper.is_needed() || !config.tls_client_ca.empty();
  if (address.is_local() || knows_its_clients || config.insecure) return {};
  return base::invalid("refusing to listen on " + address.to_string() +
                       ": other machines can reach it, and whoever does could do everything. Set --password (or "
                       "password_file) or --tls-client-ca, or say --insecure");
}

void Doors::warn_if_open_to_all(const net::SocketAddress& address) {
  const bool knows_its_clients = service_.doorkeeper.is_needed() || !service_.config.tls_client_ca.empty();
  if (address.is_local() || knows_its_clients) return;
  log_.warning("whoever can connect may do everything: set server.password or server.tls.client_ca",
               {{"address", address.to_string()}});
}

void Doors::add_listener(net::Descriptor socket, Language language) {
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

void Doors::accept(net::Descriptor socket, Language language) {
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

}  // namespace mete::server
