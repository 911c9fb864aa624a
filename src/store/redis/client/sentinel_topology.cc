#include "store/redis/client/sentinel_topology.h"

#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "store/redis/client/node_call.h"
#include "wire/text.h"

namespace mete::store::redis {

namespace {

// [host, port]
std::optional<net::Address> parse_master(const wire::RespValue& reply) {
  if (reply.elements.size() != 2) return std::nullopt;
  const auto port = wire::parse_integer(reply.elements[1].text);
  if (!port || *port < 1 || *port > 65'535) return std::nullopt;
  return net::Address{.host = reply.elements[0].text, .port = static_cast<std::uint16_t>(*port), .path = {}};
}

bool is_master(const wire::RespValue& role) { return !role.elements.empty() && role.elements[0].text == "master"; }

}  // namespace

SentinelTopology::SentinelTopology(const Url& url, const net::TlsClient* tls, std::span<const Script> scripts)
    : master_name_(url.master_name),
      timeout_(url.timeout),
      sentinels_({.credentials = url.sentinel_credentials, .database = 0, .tls = tls}),
      servers_({.credentials = url.credentials, .database = url.database, .tls = tls, .scripts = scripts}),
      listener_([this] { return trusted_sentinel(); }, url.timeout) {
  for (const net::Address& host : url.hosts) sentinels_.at(host);
}

SentinelTopology::~SentinelTopology() {
  is_ending_ = true;
  listener_.stop();
  if (watcher_.joinable()) watcher_.join();
}

Node* SentinelTopology::trusted_sentinel() const {
  const std::vector<Node*> sentinels = sentinels_.all();
  return sentinels[trusted_ % sentinels.size()];
}

void SentinelTopology::watch() {
  bool has_missed = false;  // What was said while nobody listened must be asked for.
  while (!is_ending_) {
    const auto message = listener_.wait("+switch-master", has_missed ? kWatchPause : kWatchMax);
    if (!message.has_value()) {
      has_missed = true;
      ++trusted_;
      std::this_thread::sleep_for(std::chrono::nanoseconds(kWatchPause.ns()));
    } else if (*message || has_missed) {
      has_missed = !discover(net::Deadline::in(timeout_));
    }
  }
}

Result<void> SentinelTopology::discover(const net::Deadline& deadline) {
  const std::lock_guard lock(discovery_mutex_);
  const std::vector<Node*> sentinels = sentinels_.all();
  const std::size_t first = trusted_;
  Error last;
  for (std::size_t i = 0; i < sentinels.size(); ++i) {
    const std::size_t number = (first + i) % sentinels.size();
    const auto master = ask_sentinel(*sentinels[number], deadline.share(sentinels.size() - i));
    if (master) {
      trusted_ = number;
      master_.store(*master, std::memory_order_release);
      if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
      return {};
    }
    // What another one says of the name is more to the point than that this one does not answer.
    if (i == 0 || master.error().code == ErrorCode::kInvalid) last = master.error();
  }
  return last;
}

void SentinelTopology::look_again(const net::Deadline& deadline) {
  if (!gate_.enter()) return;
  (void)discover(deadline);  // Without success the old one stays, and its breaker says what is wrong.
  gate_.leave();
}

Result<Node*> SentinelTopology::ask_sentinel(Node& sentinel, const net::Deadline& deadline) {
  const std::string name = sentinel.address().to_string();
  const auto reply = TRY(ask(sentinel, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name_}, deadline));
  if (reply.is_error()) {
    return base::invalid("the Sentinel at " + name + " refused: " + reply.text +
                         "; is it one, and are sentinel_user= and sentinel_password= right?");
  }
  const auto address = parse_master(reply);
  if (!address) {
    return base::invalid("the Sentinel at " + name + " knows no master of the name " + wire::quote(master_name_) +
                         "; the URL has it behind the hosts");
  }
  Node* const server = servers_.at(*address);
  if (server == nullptr) return base::unavailable("too many masters in too short a time");
  const auto role = TRY(ask(*server, {"ROLE"}, deadline));
  if (role.is_error()) {
    return base::invalid(server->address().to_string() + " does not tell its role: " + role.text);
  }
  if (is_master(role)) return server;
  return base::unavailable("the Sentinel at " + name + " names " + server->address().to_string() +
                           ", which is no master by now");
}

std::vector<Node*> SentinelTopology::masters() {
  Node* const master = node_for(0);
  return master == nullptr ? std::vector<Node*>() : std::vector{master};
}

std::vector<Node*> SentinelTopology::nodes() {
  std::vector<Node*> nodes = servers_.all();
  for (Node* const sentinel : sentinels_.all()) nodes.push_back(sentinel);
  return nodes;
}

}  // namespace mete::store::redis
