#include "store/redis/client/exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/time_text.h"
#include "net/fiber.h"
#include "store/redis/client/routing.h"

namespace mete::store::redis {

void Exchange::run() { go(); }

void Exchange::run_on(Node& node) {
  only_ = &node;
  go();
}

void Exchange::go() {
  open_.reserve(batch_.size());
  for (std::uint32_t i = 0; i < batch_.size(); ++i) open_.push_back({.command = i});
  for (std::size_t rounds = 0; !open_.empty(); ++rounds) {
    if (rounds > 0 && (rounds == kRoundsMax || deadline_.is_over() || (needs_pause_ && !pause()))) break;
    round();
  }
  // What a node said last is why there is no answer.
  for (const Open& open : open_) {
    fail(open.command,
         replies_[open.command]->text + " (and nothing else within " + base::duration_text(deadline_.timeout()) + ")");
  }
}

void Exchange::round() {
  needs_pause_ = false;
  calls_.clear();
  for (const Open& open : std::exchange(open_, {})) {
    const std::uint16_t slot = batch_.command(open.command).slot;
    Node* node = only_ != nullptr ? only_ : open.node;
    if (node == nullptr) node = topology_.node_for(slot);
    if (node == nullptr) {
      topology_.look_again(deadline_);
      node = topology_.node_for(slot);
    }
    if (node == nullptr) {
      fail(open.command, "no node of Redis is known to have the slot " + std::to_string(slot) + " at the moment");
      continue;
    }
    call_to(*node).add(open.command, open.is_asking);
  }
  std::vector<bool> are_sent;
  for (NodeCall& call : calls_) {
    const auto sent = call.send();
    are_sent.push_back(sent.has_value());
    if (!sent) give_up_node(call, sent.error());
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (!are_sent[i]) continue;
    calls_[i].receive(replies_);
    judge(calls_[i]);
  }
}

NodeCall& Exchange::call_to(Node& node) {
  for (NodeCall& call : calls_) {
    if (&call.node() == &node) return call;
  }
  return calls_.emplace_back(node, batch_, deadline_);
}

void Exchange::judge(const NodeCall& call) {
  for (const std::uint32_t command : call.commands()) {
    const auto& reply = replies_[command];
    if (!reply || !reply->is_error()) continue;
    switch (kind_of(*reply)) {
      case ReplyKind::kAnswer:
      case ReplyKind::kNoScript:
        break;
      case ReplyKind::kNotHere:
        topology_.look_again(deadline_);
        [[fallthrough]];
      case ReplyKind::kLater:
        needs_pause_ = true;
        open_.push_back({.command = command});
        break;
      case ReplyKind::kMoved:
      case ReplyKind::kAsk:
        redirect(command, call.node());
        break;
    }
  }
}

void Exchange::redirect(std::uint32_t command, Node& said_by) {
  const wire::RespValue& reply = *replies_[command];
  const auto redirection = redirection_of(reply, said_by.address());
  Node* const node = redirection ? topology_.node_at(redirection->address) : nullptr;
  if (node == nullptr || only_ != nullptr) {
    return fail(command, said_by.address().to_string() + " is a node of a Cluster, and said " + reply.text +
                             "; if the URL does not begin with redis+cluster://, let it");
  }
  const bool is_asking = kind_of(reply) == ReplyKind::kAsk;
  if (!is_asking) {
    topology_.moved(redirection->slot, *node);
    topology_.look_again(deadline_);
  }
  open_.push_back({.command = command, .node = node, .is_asking = is_asking});
}

// Nothing was sent: it may be tried elsewhere, if there is an elsewhere by now.
void Exchange::give_up_node(const NodeCall& call, const Error& error) {
  if (only_ == nullptr) topology_.look_again(deadline_);
  for (const std::uint32_t command : call.commands()) {
    replies_[command] = wire::RespValue{.type = wire::RespType::kError, .text = error.message};
    Node* const node = only_ != nullptr ? only_ : topology_.node_for(batch_.command(command).slot);
    if (node == nullptr || node == &call.node()) {
      fail(command, error.message);
    } else {
      open_.push_back({.command = command});
    }
  }
}

void Exchange::fail(std::uint32_t command, std::string reason) {
  replies_[command] = base::unavailable(std::move(reason));
}

bool Exchange::pause() {
  if (pause_ >= deadline_.left()) return false;
  net::pause_for(pause_);
  pause_ = std::min(pause_ + pause_, kPauseMax);
  return !deadline_.is_over();  // A busy machine wakes it late: what is sent then can only be lost.
}

}  // namespace mete::store::redis
