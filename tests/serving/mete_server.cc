#include "serving/mete_server.h"

#include <stdexcept>
#include <utility>

#include "server/doors/resp/resp_session.h"
#include "server/running/worker.h"

namespace mete::serving {

namespace {

constexpr std::size_t kLoops = 2;

std::vector<std::unique_ptr<server::Worker>> make_workers() {
  std::vector<std::unique_ptr<server::Worker>> workers;
  for (std::size_t index = 0; index < kLoops; ++index) workers.push_back(std::make_unique<server::Worker>());
  return workers;
}

net::Descriptor listen(std::uint16_t port) {
  auto sockets = net::listen_on({.host = "127.0.0.1", .port = port, .path = {}});
  if (!sockets) throw std::runtime_error(sockets.error().message);
  return std::move(sockets->front());
}

}  // namespace

MeteServer::MeteServer(std::unique_ptr<store::Store> store, server::Config config, std::uint16_t port)
    : store_(std::move(store)), service_(*store_, std::move(config), make_workers()) {
  service_.slow_threshold_ns = std::numeric_limits<std::int64_t>::max();
  service_.watch_persistence([](const Error&) {});
  service_.shut_down = [] {};
  service_.apply_config = [] {};
  protocol_.make_session = [this](net::ConnectionSet& set, std::uint64_t id, int) -> std::unique_ptr<net::Session> {
    auto client = std::make_shared<server::Client>();
    client->id = id;
    for (const auto& worker : service_.workers) {
      if (&worker->connections == &set) client->worker = worker.get();
    }
    return std::make_unique<server::RespSession>(service_, *client->worker, client);
  };
  listener_ = std::make_unique<net::Listener>(
      service_.workers[0]->loop, listen(port),
      [this](net::Descriptor socket) {
        const std::uint64_t id = ++last_id_;
        server::Worker& worker = *service_.workers[id % kLoops];
        const auto shared = std::make_shared<net::Descriptor>(std::move(socket));
        worker.loop.post([this, &worker, id, shared] { worker.connections.add(std::move(*shared), id, protocol_); });
      },
      [](const std::string& problem) { throw std::runtime_error(problem); });
  const std::string address = listener_->address().to_string();
  port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  for (const auto& worker : service_.workers) threads_.emplace_back([&loop = worker->loop] { loop.run(); });
}

MeteServer::~MeteServer() {
  for (const auto& worker : service_.workers) worker->loop.stop();
  for (std::thread& thread : threads_) thread.join();
  listener_.reset();
}

}  // namespace mete::serving
