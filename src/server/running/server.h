// Server: `mete serve`: listeners, event loops, the store, signals and the reload of the configuration.
//
// start() makes it ready to answer; run() answers until a signal or SHUTDOWN stops it: no new connections, what has
// arrived is answered, then it returns.
#pragma once

#include <mete/result.h>

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "net/connection_set.h"
#include "net/listener.h"
#include "net/tls/tls.h"
#include "server/configuration/config.h"
#include "server/configuration/watched_files.h"
#include "server/doors/grpc/method.h"
#include "server/doors/http/api.h"
#include "server/envoy/rule_book.h"
#include "server/running/banner.h"
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
  enum class Language : std::uint8_t { kResp, kHttp, kGrpc };
  static constexpr std::array kLanguages = {Language::kResp, Language::kHttp, Language::kGrpc};
  // Something of each language.
  template <class Value>
  using ByLanguage = std::array<Value, kLanguages.size()>;

  Server(ConfigSources sources, Startup startup, base::Log& log);

  Result<void> prepare();
  Result<void> listen();
  Result<void> listen(const std::vector<std::string>& addresses, Language language);
  Result<void> check_exposure(const net::SocketAddress& address) const;
  void warn_if_open_to_all(const net::SocketAddress& address);
  void add_listener(net::Descriptor socket, Language language);
  void make_protocols();
  // One of a door's protocols: for its usual places, or for those that are kept.
  net::Protocol make_protocol(Language language, Places::Place place);
  std::unique_ptr<net::Session> make_resp_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved);
  std::unique_ptr<net::Session> make_http_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved,
                                                  const wire::HttpLimits& limits);
  std::unique_ptr<net::Session> make_grpc_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved);
  [[nodiscard]] std::function<void(Admission::Outcome)> wrong_password_reporter(const std::string& address);
  template <class Value>
  static Value& of(Language language, ByLanguage<Value>& values) {
    return values[static_cast<std::size_t>(language)];
  }
  [[nodiscard]] Worker& worker_of(const net::ConnectionSet& set);
  void accept(net::Descriptor socket, Language language);
  void start_workers();
  void stop();
  void stop_worker(Worker& worker);
  void note_stopped(Worker& worker);
  // What is read again when it changes: the configuration's file, and those that it names.
  void watch_files(const Config& config);
  void reload();
  void finish_reload(const Config& next);
  void refuse_reload(const Error& error);
  // The certificate and its key again, from the same files.
  // Null where none is configured.
  Result<std::shared_ptr<net::TlsContext>> load_certificate();
  void replace_certificate(std::shared_ptr<net::TlsContext> certificate);
  // Whoever has shown a password that is not valid any more has to go.
  void replace_passwords(const Config& next);
  // The same for what a node shows to others.
  Result<void> replace_peer_credentials(const Config& next);
  void apply_settings();
  // Once a second: what nobody tells of, the disk's room and the machine's clock.
  void look_after();
  void look_at_disk();
  void look_at_clock();
  void reload_if_due();
  // The rules of envoyproxy/ratelimit, from their files; at the start, and when they have changed.
  Result<void> load_rules();
  void reload_rules();
  // After the store has lost its state.
  Result<void> define_again();

  ConfigSources sources_;
  base::Log& log_;
  std::unique_ptr<FileLimits> store_;
  store::WatchedStore* watched_;  // inside of it; null: the state is in this process
  escrow::EscrowStore* node_;     // the same; null: this server is no node of a cluster
  Service service_;
  HttpApi http_api_;
  envoy::RuleBook rule_book_;
  const GrpcHooks grpc_hooks_;
  std::mutex tls_mutex_;
  std::shared_ptr<net::TlsContext> tls_;  // null: plain text
  ByLanguage<net::Protocol> protocols_;
  ByLanguage<net::Protocol> reserved_protocols_;
  std::vector<std::unique_ptr<net::Listener>> listeners_;
  ByLanguage<std::vector<std::string>> addresses_;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<WatchedFiles> watched_files_;
  std::unique_ptr<WatchedFiles> watched_rules_;
  std::mutex limits_mutex_;                 // held while the limits of a file are defined
  std::string reload_refusal_;              // why the last reload was refused, while one is due; under limits_mutex_
  std::atomic<bool> is_reload_due_{false};  // the store was away
  std::vector<std::thread> threads_;        // of all workers but the first
  std::uint64_t next_connection_ = 1;
  std::size_t next_worker_ = 0;
  bool is_stopping_ = false;
  // What look_after() has seen last, on the first loop.
  journal::DiskRoom::Level room_ = journal::DiskRoom::Level::kPlenty;
  std::atomic<bool> has_failed_full_{false};  // the disk had no room when it failed
  bool must_start_again_ = false;
  std::uint64_t refused_steps_ = 0;
  bool is_step_refused_ = false;
  std::set<const Worker*> running_;  // while it stops: those that are not done yet; on the first loop
};

}  // namespace mete::server
