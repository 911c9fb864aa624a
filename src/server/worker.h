// Worker: an event loop with its connections and what they share. A server has one or several, each with a thread.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>

#include "net/connection_set.h"
#include "net/event_loop.h"
#include "server/arguments.h"
#include "server/command_index.h"
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

  using Act = std::function<void(net::Connection& connection)>;

  // Does something to a client's connection, from any thread: soon, on the loop's. `gone` runs instead if there is no
  // such connection any more.
  void reach(std::uint64_t client, Act act, net::EventLoop::Task gone = nullptr) {
    loop.post([this, client, act = std::move(act), gone = std::move(gone)] {
      if (!connections.with(client, act) && gone) gone();
    });
  }

  // Sends the answer that a blocked client waits for, from any thread. `undeliverable` runs if it has gone.
  void answer(std::uint64_t client, std::string bytes, net::EventLoop::Task undeliverable = nullptr) {
    reach(client, resume_with(std::move(bytes)), std::move(undeliverable));
  }

  // The same after a while; on the loop's thread alone.
  void answer_after(Duration delay, std::uint64_t client, std::string bytes) {
    loop.after(delay, [this, client, act = resume_with(std::move(bytes))] { connections.with(client, act); });
  }

  net::EventLoop loop;
  net::ConnectionSet connections;
  LoopMetrics metrics;
  Arguments arguments;  // of the request that is being served
  std::array<LookedAhead, TogetherTaken::kMax> ahead;
  TogetherTaken together;

 private:
  static Act resume_with(std::string bytes) {
    return [bytes = std::move(bytes)](net::Connection& connection) { connection.resume(bytes); };
  }
};

}  // namespace mete::server
