// RespPipeline: one connection to a server that speaks RESP, shared by calls that do not wait for each other.
//
//     auto turn = pipeline.send(bytes, 2, deadline);        // two commands
//     auto first = (*turn)->next(deadline);                 // their replies
//
// Commands leave in the order of send(), and their replies come in the same order. store/network/line.h says who writes
// and reads. Thread safety: none: for fibers of one event loop, or for one plain thread.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "store/network/line.h"
#include "store/network/resp_client.h"

namespace mete::store {

class RespPipeline;

// What one caller has sent, and its replies.
class RespTurn {
 public:
  RespTurn(RespPipeline& pipeline, std::size_t replies) : pipeline_(pipeline), missing_(replies) {}

  // The next reply. The pipeline must be there still.
  Result<wire::RespValue> next(const net::Deadline& deadline);

  net::Signal changed;  // all replies have come, or it is this one's turn to read

 private:
  friend class RespPipeline;

  RespPipeline& pipeline_;
  std::size_t missing_;  // that have not come
  std::deque<wire::RespValue> arrived_;
};

class RespPipeline : public Line<RespPipeline, RespTurn> {
 public:
  explicit RespPipeline(RespClient client) : client_(std::move(client)) {}

  // `replies`: how many the bytes will be answered with. An error means that nothing was sent.
  Result<std::shared_ptr<RespTurn>> send(std::string_view bytes, std::size_t replies, const net::Deadline& deadline);

  // Nobody uses it, the connection stands, and nothing came that was not asked for. Does not wait.
  [[nodiscard]] bool is_quiet() { return turns_.empty() && client_.socket().is_quiet(); }
  [[nodiscard]] std::string address() const { return client_.address().to_string(); }
  static Error unavailable(std::string reason) { return base::unavailable(std::move(reason)); }

 private:
  friend class Line<RespPipeline, RespTurn>;
  friend class RespTurn;

  Result<void> write_added(const net::Deadline& deadline);
  Result<void> read_some(const net::Deadline& deadline);
  [[nodiscard]] Error no_answer(const net::Deadline& deadline) const { return client_.no_answer(deadline); }

  RespClient client_;
  std::string unsent_;
};

}  // namespace mete::store
