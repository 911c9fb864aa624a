#include "store/redis/client/node_call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "store/redis/client/routing.h"
#include "wire/resp_command.h"

namespace mete::store::redis {

namespace {

void append_asking(std::string& output) {
  const std::string_view words[] = {"ASKING"};
  wire::append_command(output, words);
}

}  // namespace

NodeCall::~NodeCall() {
  if (lease_.line) node_->lines().drop(lease_, false);
}

void NodeCall::add(std::uint32_t command, bool is_asking) {
  if (is_asking && asking_.empty()) asking_.assign(commands_.size(), false);
  if (is_asking || !asking_.empty()) asking_.push_back(is_asking);
  commands_.push_back(command);
}

Result<void> NodeCall::send() {
  script_loads_ = node_->script_state().loads();
  lease_ = TRY(node_->lines().borrow(*deadline_));
  std::string part;
  if (!is_whole_batch()) {
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (is_asking(i)) append_asking(part);
      const Batch::Command& command = batch_->command(commands_[i]);
      part += batch_->bytes().substr(command.begin, command.end - command.begin);
    }
  }
  const auto asking = std::ranges::count(asking_, true);
  auto turn = lease_.line->send(is_whole_batch() ? batch_->bytes() : part,
                                commands_.size() + static_cast<std::size_t>(asking), *deadline_);
  if (!turn) {
    node_->lines().drop(std::exchange(lease_, {}), false);
    return turn.error();
  }
  turn_ = std::move(*turn);
  return {};
}

void NodeCall::receive(Replies& replies) {
  CHECK(turn_ != nullptr);
  std::vector<std::size_t> unknown_scripts;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    auto reply = receive_one(i);
    if (!reply) {
      std::vector<std::size_t> lost = std::move(unknown_scripts);
      for (; i < commands_.size(); ++i) lost.push_back(i);
      return lose(reply.error(), lost, replies);
    }
    const bool is_script = batch_->command(commands_[i]).rest != 0;
    if (is_script && kind_of(*reply) == ReplyKind::kNoScript) unknown_scripts.push_back(i);
    replies[commands_[i]] = std::move(reply);
  }
  if (!unknown_scripts.empty()) send_texts(unknown_scripts, replies);
  turn_.reset();
  if (lease_.line) node_->lines().give_back(std::exchange(lease_, {}));
}

Result<wire::RespValue> NodeCall::receive_one(std::size_t position) {
  if (is_asking(position)) {
    // Whatever it says to ASKING, the reply to the command tells.
    TRY(turn_->next(*deadline_));
  }
  return turn_->next(*deadline_);
}

void NodeCall::send_texts(std::span<const std::size_t> positions, Replies& replies) {
  const bool loads = node_->script_state().begin(script_loads_);
  std::string texts;
  for (const std::size_t position : positions) {
    if (is_asking(position)) append_asking(texts);
    append_eval(texts, *batch_, batch_->command(commands_[position]));
  }
  if (loads) node_->append_script_loads(texts);
  auto replies_to_come = positions.size() + (loads ? node_->script_count() : 0);
  for (const std::size_t position : positions) replies_to_come += is_asking(position) ? 1U : 0U;
  auto turn = lease_.line->send(texts, replies_to_come, *deadline_);
  if (turn) turn_ = std::move(*turn);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    auto reply = turn ? receive_one(positions[i]) : Result<wire::RespValue>(turn.error());
    if (!reply) {
      if (loads) node_->script_state().finished(false);
      return lose(reply.error(), positions.subspan(i), replies);
    }
    replies[commands_[positions[i]]] = std::move(reply);
  }
  if (!loads) return;
  const bool is_loaded = receive_loads();
  node_->script_state().finished(is_loaded);
  if (is_loaded) node_->count_script_reload();
}

bool NodeCall::receive_loads() {
  bool is_loaded = true;
  for (std::size_t i = 0; i < node_->script_count(); ++i) {
    const auto reply = turn_->next(*deadline_);
    if (!reply) {
      node_->lines().drop(std::exchange(lease_, {}), deadline_->is_over());
      return false;
    }
    is_loaded = is_loaded && !reply->is_error();
  }
  return is_loaded;
}

void NodeCall::lose(const Error& error, std::span<const std::size_t> positions, Replies& replies) {
  node_->lines().drop(std::exchange(lease_, {}), deadline_->is_over());
  for (const std::size_t position : positions) {
    replies[commands_[position]] = base::unavailable(error.message);
  }
}

Result<wire::RespValue> ask(Node& node, std::initializer_list<std::string_view> words, const net::Deadline& deadline) {
  Batch batch;
  batch.add("", words);
  NodeCall call(node, batch, deadline);
  call.add(0, false);
  TRY(call.send());
  Replies replies(1);
  call.receive(replies);
  return std::move(replies[0]);
}

}  // namespace mete::store::redis
