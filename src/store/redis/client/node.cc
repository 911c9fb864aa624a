#include "store/redis/client/node.h"

#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "store/redis/client/routing.h"
#include "wire/resp_command.h"

namespace mete::store::redis {

namespace {

// What a server answered to the first commands of a connection.
Error refusal(const net::Address& address, const std::string& text) {
  std::string message = address.to_string() + " refused: " + text;
  if (text.starts_with("NOAUTH")) message += "; put the password into the URL: redis://:password@host";
  if (text.starts_with("NOPERM")) message += "; the user needs the commands SCRIPT LOAD, EVALSHA and EVAL";
  return base::invalid(std::move(message));
}

}  // namespace

Node::Node(net::Address address, NodeSettings settings)
    : address_(std::move(address)),
      settings_(std::move(settings)),
      lines_({.server = address_.to_string(),
              .open = [this](const net::Deadline& deadline) -> Result<std::shared_ptr<RespPipeline>> {
                auto client = TRY(connect_apart(deadline));
                TRY(prepare(client, deadline));
                return std::make_shared<RespPipeline>(std::move(client));
              },
              .on_loss = [this] { script_state_.doubt(); }}) {}

void Node::append_script_loads(std::string& output) const {
  for (const Script& script : settings_.scripts) {
    const std::string_view words[] = {"SCRIPT", "LOAD", script.text()};
    wire::append_command(output, words);
  }
}

Result<RespClient> Node::connect_apart(const net::Deadline& deadline) const {
  return RespClient::open({.address = address_,
                           .user = settings_.credentials.user,
                           .password = settings_.credentials.password,
                           .tls = settings_.tls},
                          deadline);
}

Result<void> Node::prepare(RespClient& client, const net::Deadline& deadline) {
  std::string bytes;
  std::size_t replies = 0;
  if (settings_.database != 0) {
    const std::string database = std::to_string(settings_.database);
    const std::string_view words[] = {"SELECT", database};
    wire::append_command(bytes, words);
    ++replies;
  }
  const bool loads =
      !settings_.scripts.empty() && !script_state_.are_loaded() && script_state_.begin(script_state_.loads());
  if (loads) {
    append_script_loads(bytes);
    replies += script_count();
  }
  auto failure = client.send(bytes, deadline);
  bool has_loaded = loads;
  for (; replies > 0 && failure; --replies) {
    const auto reply = client.receive(deadline);
    if (!reply) {
      failure = reply.error();
    } else if (kind_of(*reply) != ReplyKind::kAnswer) {
      has_loaded = false;  // A server that is still loading says so again, when it is asked for more.
    } else if (reply->is_error()) {
      failure = refusal(address_, reply->text);
    }
  }
  if (loads) script_state_.finished(failure && has_loaded);
  return failure;
}

Node* NodeSet::at(const net::Address& address) {
  const std::lock_guard lock(mutex_);
  for (const auto& node : nodes_) {
    if (node->address() == address) return node.get();
  }
  if (nodes_.size() == kNodesMax) return nullptr;
  return nodes_.emplace_back(std::make_unique<Node>(address, settings_)).get();
}

std::vector<Node*> NodeSet::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Node*> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& node : nodes_) nodes.push_back(node.get());
  return nodes;
}

}  // namespace mete::store::redis
