// Worker: an event loop with its connections and what they share. A server has one or several, each with a thread.
#pragma once

#include "net/connection_set.h"
#include "net/event_loop.h"
#include "server/arguments.h"
#include "server/metrics.h"

namespace mete::server {

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

  net::EventLoop loop;
  net::ConnectionSet connections;
  LoopMetrics metrics;
  Arguments arguments;  // of the request that is being served
};

}  // namespace mete::server
