// Server: the way to one other Mete server.
//
// A call takes the time-out at most. While the server is known to be away calls fail at once, and one now and then
// finds out that it is back.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "store/mete/call.h"
#include "store/network/lone_takes.h"
#include "store/redis/client/node.h"

namespace mete::store::servers {

class Server {
 public:
  Server(net::Address address, redis::NodeSettings settings, Duration timeout)
      : node_(std::move(address), std::move(settings)), timeout_(timeout) {}

  // Each command of the call gets its reply, or kUnavailable.
  void run(Call& call);

  [[nodiscard]] LoneTakes& lone_takes() { return lone_takes_; }
  [[nodiscard]] const net::Address& address() const { return node_.address(); }
  [[nodiscard]] const Lines<RespPipeline>& lines() const { return node_.lines(); }
  // Commands that ended in kUnavailable on the way.
  [[nodiscard]] std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

 private:
  // False: it may have been sent, and did not get all its replies.
  bool attempt(Call& call, const net::Deadline& deadline);

  redis::Node node_;
  const Duration timeout_;
  std::atomic<std::uint64_t> failures_ = 0;
  LoneTakes lone_takes_;
};

}  // namespace mete::store::servers
