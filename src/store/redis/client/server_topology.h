// ServerTopology: one server, for everything.
#pragma once

#include <utility>

#include "store/redis/client/node_call.h"
#include "store/redis/client/topology.h"

namespace mete::store::redis {

class ServerTopology final : public Topology {
 public:
  ServerTopology(const Url& url, const net::TlsClient* tls, bool has_scripts)
      : node_(url.hosts.front(),
              {.credentials = url.credentials, .database = url.database, .tls = tls, .has_scripts = has_scripts}) {}

  [[nodiscard]] Shape shape() const override { return Shape::kServer; }
  Result<void> discover(const net::Deadline& deadline) override {
    return ask(node_, {"PING"}, deadline).map([](const wire::RespValue&) { return Done{}; });
  }
  void look_again(const net::Deadline& /*deadline*/) override {}

  [[nodiscard]] Node* node_for(std::uint16_t /*slot*/) override { return &node_; }
  [[nodiscard]] Node* node_at(const net::Address& /*address*/) override { return nullptr; }
  void moved(std::uint16_t /*slot*/, Node& /*node*/) override {}

  [[nodiscard]] std::vector<Node*> masters() override { return {&node_}; }
  [[nodiscard]] std::vector<Node*> nodes() override { return {&node_}; }

 private:
  Node node_;
};

}  // namespace mete::store::redis
