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
#include "net/connection_set.h"
#include "net/listener.h"
#include "net/tls.h"
#include "server/configuration/config.h"
#include "server/configuration/watched_file.h"
#include "server/doors/http/api.h"
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
  void run();

 private:
  class Signals;
  enum class Language : std::uint8_t { kResp, kHttp };

  Server(ConfigSources sources, Startup startup, base::Log& log);

  Result<void> prepare();
  Result<void> listen();
  Result<void> listen(const std::vector<std::string>& addresses, Language language);
  Result<void> check_exposure(const net::SocketAddress& address) const;
  void warn_if_open_to_all(const net::SocketAddress& address);
  void add_listener(net::Descriptor socket, Language language);
  void make_protocols();
  [[nodiscard]] Worker& worker_of(const net::ConnectionSet& set);
  void accept(net::Descriptor socket, const net::Protocol& protocol, Language language);
  void start_workers();
  void stop();
  void stop_worker(Worker& worker);
  void note_stopped(Worker& worker);
  void reload();
  void finish_reload(const Config& next);
  void apply_settings();

  ConfigSources sources_;
  base::Log& log_;
  std::unique_ptr<store::Store> store_;
  Service service_;
  HttpApi http_api_;
  std::shared_ptr<net::TlsContext> tls_;
  net::Protocol resp_;
  net::Protocol http_;
  std::vector<std::unique_ptr<net::Listener>> listeners_;
  std::vector<std::string> resp_addresses_;
  std::vector<std::string> http_addresses_;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<WatchedFile> watched_config_;
  std::vector<std::thread> threads_;  // of all workers but the first
  std::uint64_t next_connection_ = 1;
  std::size_t next_worker_ = 0;
  bool is_stopping_ = false;
  std::set<const Worker*> running_;  // while it stops: those that are not done yet; on the first loop
};

}  // namespace mete::server
