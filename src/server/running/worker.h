// Worker: an event loop with its connections and what they share. A server has one or several, each with a thread.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>

#include "net/connection_set.h"
#include "net/event_loop.h"
#include "server/decisions/sync_gate.h"
#include "server/doors/resp/arguments.h"
#include "server/doors/resp/command_table.h"
#include "server/observation/metrics.h"
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
  Worker() : connections(loop), gate(loop, connections), metrics(loop) {}

  using Act = std::function<void(net::Connection& connection)>;

  // Does something to a client's connection, from any thread: soon, on the loop's. `gone` runs instead if there is no
  // such connection any more.
  void reach(std::uint64_t client, Act act, net::EventLoop::Task gone = nullptr) {
    loop.post([this, client, act = std::move(act), gone = std::move(gone)] {
      if (!connections.with(client, act) && gone) gone();
    });
  }

  // An answer that comes later, and the ticket of what it tells of.
  struct Answer {
    std::string bytes;
    store::Ticket ticket = 0;
  };

  // Sends the answer that a blocked client waits for, from any thread. `undeliverable` runs if it does not wait any
  // more.
  void answer(std::uint64_t client, Answer answer, net::EventLoop::Task undeliverable = nullptr) {
    loop.post([this, client, answer = std::move(answer), undeliverable = std::move(undeliverable)] {
      if (!deliver(client, answer) && undeliverable) undeliverable();
    });
  }

  // The same after a while; on the loop's thread alone.
  void answer_after(Duration delay, std::uint64_t client, std::string bytes) {
    loop.after(delay, [this, client, answer = Answer{std::move(bytes)}] { deliver(client, answer); });
  }

  net::EventLoop loop;
  net::ConnectionSet connections;
  SyncGate gate;
  LoopMetrics metrics;
  Arguments arguments;  // of the request that is being served
  std::array<LookedAhead, TogetherTaken::kMax> ahead;
  TogetherTaken together;

 private:
  bool deliver(std::uint64_t client, const Answer& answer) {
    bool is_delivered = false;
    connections.with(client, [&](net::Connection& connection) {
      is_delivered = connection.resume(answer.bytes, gate.needed(answer.ticket));
    });
    return is_delivered;
  }
};

}  // namespace mete::server
