// Worker: an event loop with its connections and what they share. A server has one or several, each with a thread.
#pragma once

#include "net/connection_set.h"
#include "net/event_loop.h"
#include "server/arguments.h"
#include "server/command_table.h"
#include "server/metrics.h"
#include "wire/resp_request.h"

namespace mete::server {

// A request that has been read, and not been served yet.
struct LookedAhead {
  wire::UsualRequest request;
  FoundCommand found;
};

// Takes that are served together.
struct TogetherTaken {
  static constexpr std::size_t kMax = 32;
  std::array<Charge, kMax> charges;
  std::array<Result<core::Verdict>, kMax> answers;
};

class Worker {
 public:
  Worker() : connections(loop), metrics(loop) {}

  // Sends the answer that a blocked client waits for, from any thread. `undeliverable` runs if it has gone.
  void answer(std::uint64_t client, std::string bytes, net::EventLoop::Task undeliverable = nullptr) {
    loop.post([this, client, bytes = std::move(bytes), undeliverable = std::move(undeliverable)] {
      if (net::Connection* connection = connections.find(client)) {
        connection->resume(bytes);
      } else if (undeliverable) {
        undeliverable();
      }
    });
  }

  // The same after a while; on the loop's thread alone.
  void answer_after(Duration delay, std::uint64_t client, std::string bytes) {
    loop.after(delay, [this, client, bytes = std::move(bytes)] {
      if (net::Connection* connection = connections.find(client)) connection->resume(bytes);
    });
  }

  net::EventLoop loop;
  net::ConnectionSet connections;
  LoopMetrics metrics;
  Arguments arguments;  // of the request that is being served
  std::array<LookedAhead, TogetherTaken::kMax> ahead;
  TogetherTaken together;
};

}  // namespace mete::server
