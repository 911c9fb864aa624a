// RespPipeline: one connection to a server that speaks RESP, shared by calls that do not wait for each other.
//
//     auto turn = pipeline.send(bytes, 2, deadline);        // two commands
//     auto first = (*turn)->next(deadline);                 // their replies
//
// Commands leave in the order of send(), and those that fibers send in one round of their event loop leave in one
// write. Of those who wait for replies one reads for all: it hands out what has come, and when it has all of its own,
// the next one reads on.
//
//     sent, replies to come ──▶ │ turn │ turn │ turn │ ◀── the reader hands out what it has parsed, first come first
//     served
//
// A turn that is given up, by its deadline or because nobody wants it any more, keeps its place: its replies are
// dropped when they come, so that they are never taken for those of another. After a failure nothing is sent any more.
//
// Thread safety: none: for fibers of one event loop, or for one plain thread.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/signal.h"
#include "store/network/resp_client.h"

namespace mete::store {

class RespPipeline {
 public:
  // What one caller has sent, and its replies.
  class Turn {
   public:
    Turn(RespPipeline& pipeline, std::size_t replies) : pipeline_(pipeline), missing_(replies) {}

    // The next reply. The pipeline must be there still.
    Result<wire::RespValue> next(const net::Deadline& deadline);

   private:
    friend class RespPipeline;

    RespPipeline& pipeline_;
    std::size_t missing_;  // that have not come
    std::deque<wire::RespValue> arrived_;
    net::Signal changed_;  // all have come, or it is this one's turn to read
  };

  explicit RespPipeline(RespClient client) : client_(std::move(client)) {}
  RespPipeline(const RespPipeline&) = delete;
  RespPipeline& operator=(const RespPipeline&) = delete;
  ~RespPipeline() = default;

  // `replies`: how many the bytes will be answered with. An error means that nothing was sent.
  Result<std::shared_ptr<Turn>> send(std::string_view bytes, std::size_t replies, const net::Deadline& deadline);

  // Calls that have not all their replies.
  [[nodiscard]] std::size_t waiting() const { return turns_.size(); }
  // No further call may use it: it has failed, or somebody has waited for too long.
  [[nodiscard]] bool is_retired() const { return is_retired_ || failure_.has_value(); }
  void retire() { is_retired_ = true; }
  // Nobody uses it, the connection stands, and nothing came that was not asked for. Does not wait.
  [[nodiscard]] bool is_quiet() { return turns_.empty() && client_.socket().is_quiet(); }

 private:
  // The calls that use it are of one thread: nothing to lock.
  struct NoLock {
    void lock() {}
    void unlock() {}
  };

  Result<void> write(const net::Deadline& deadline);
  Result<void> read(const net::Deadline& deadline);
  Result<void> hand_out();
  void let_next_read();
  void fail(const Error& error);

  RespClient client_;
  std::deque<std::shared_ptr<Turn>> turns_;  // in the order of their sending
  std::string unsent_;
  bool is_writing_ = false;
  bool is_reading_ = false;
  bool is_retired_ = false;
  std::optional<Error> failure_;
};

}  // namespace mete::store
