// MeteServer: a Mete server in this process, over a store that the test makes, on a port of this machine.
//
//     ManualClock clock;
//     MeteServer server(std::make_unique<store::EmbeddedStore>(Options{.clock = &clock}));
//     auto limiter = mete::open(server.url()).value();
//
// It is what `mete serve` is behind its start: the same sessions, on event loops of their own. It ends with this
// object. Thread safety: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/connection_set.h"
#include "net/listener.h"
#include "server/running/service.h"
#include "store/store.h"

namespace mete::serving {

class MeteServer {
 public:
  // `port`: 0 for any that is free.
  explicit MeteServer(std::unique_ptr<store::Store> store, server::Config config = {}, std::uint16_t port = 0);
  MeteServer(const MeteServer&) = delete;
  MeteServer& operator=(const MeteServer&) = delete;
  ~MeteServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  // With a time-out that is as long as it takes.
  [[nodiscard]] std::string url() const { return "mete://" + host() + kPatient; }
  // What it serves, past the wire.
  [[nodiscard]] store::Store& store() { return *store_; }

  static constexpr const char* kPatient = "?timeout=20s";

 private:
  std::unique_ptr<store::Store> store_;
  net::Protocol protocol_;  // outlives the connections, which the service has
  server::Service service_;
  std::uint64_t last_id_ = 0;  // on the first loop's thread
  std::uint16_t port_ = 0;
  std::unique_ptr<net::Listener> listener_;
  std::vector<std::thread> threads_;
};

}  // namespace mete::serving
