// NodeCall: commands of a batch on their way to one node: sent in one write, and then their replies.
//
// The two steps are apart, so that several nodes can be at work at the same time. NOSCRIPT is dealt with here. Whatever
// else the node says is left to the caller. Thread safety: none.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "net/deadline.h"
#include "store/redis/client/batch.h"
#include "store/redis/client/link.h"
#include "store/redis/client/node.h"

namespace mete::store::redis {

class NodeCall {
 public:
  // What they refer to outlives the call.
  NodeCall(Node& node, const Batch& batch, const net::Deadline& deadline)
      : node_(&node), batch_(&batch), deadline_(&deadline) {}
  NodeCall(NodeCall&&) = default;
  NodeCall& operator=(NodeCall&&) = delete;
  ~NodeCall();

  // `is_asking`: the node is to serve it although the slot is not its own yet.
  void add(std::uint32_t command, bool is_asking);

  // Nothing was sent if this fails: then nothing has happened, and receive() must not be called.
  Result<void> send();
  // Replies of the commands that were added; from where the connection failed on, the error.
  void receive(Replies& replies);

  [[nodiscard]] Node& node() const { return *node_; }
  [[nodiscard]] const std::vector<std::uint32_t>& commands() const { return commands_; }

 private:
  [[nodiscard]] bool is_whole_batch() const { return asking_.empty() && commands_.size() == batch_->size(); }
  [[nodiscard]] bool is_asking(std::size_t position) const { return !asking_.empty() && asking_[position]; }
  Result<wire::RespValue> receive_one(std::size_t position);
  // Sends the scripts that the node does not know as a whole; one thread loads them all, behind that.
  void send_texts(std::span<const std::size_t> positions, Replies& replies);
  [[nodiscard]] bool receive_loads();
  // The connection failed before the replies at these positions.
  void lose(const Error& error, std::span<const std::size_t> positions, Replies& replies);

  Node* node_;
  const Batch* batch_;
  const net::Deadline* deadline_;
  std::vector<std::uint32_t> commands_;
  std::vector<bool> asking_;  // empty: none of them
  Lines<RespPipeline>::Lease lease_;
  std::shared_ptr<RespTurn> turn_;
  std::uint64_t script_loads_ = 0;  // before anything was sent
};

// One command to one node, for links themselves.
Result<wire::RespValue> ask(Node& node, std::initializer_list<std::string_view> words, const net::Deadline& deadline);

}  // namespace mete::store::redis
