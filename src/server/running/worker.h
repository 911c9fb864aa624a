// Worker: an event loop with its connections and what they share. A server has one or several, each with a thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/connection_set.h"
#include "net/event_loop.h"
#include "net/fiber.h"
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

// Takes, or steps on keys, that are served together.
struct TogetherTaken {
  static constexpr std::size_t kMax = 32;
  std::array<Charge, kMax> charges;
  std::array<Result<core::Verdict>, kMax> answers;
  std::array<core::KeyStep, kMax> steps;
  std::array<Result<core::KeyStepAnswer>, kMax> step_answers;
};

// What a session needs while it serves a batch of requests.
struct Workspace {
  Arguments arguments;  // of the request that is being served
  std::array<LookedAhead, TogetherTaken::kMax> ahead;
  TogetherTaken together;
  std::array<std::string_view, TogetherTaken::kMax> keys;  // of the requests ahead
};

class Worker {
 public:
  // `waits`: the store lies elsewhere, at least in part. Then sessions work on fibers, and the loop goes on while they
  // wait for the store.
  explicit Worker(bool waits = false)
      : fibers(loop), connections(loop, waits ? &fibers : nullptr), gate(loop, connections), metrics(loop) {}

  // On this thread, until the loop is stopped and nothing waits any more.
  void run() {
    loop.run();
    while (fibers.under_way() > 0) {
      loop.after(kLastLook, [this] { loop.stop(); });
      loop.run();
    }
  }

  // Does what may wait for the store: now, or soon, on a fiber. On the loop's thread alone.
  void run_waiting(std::function<void()> work) {
    if (connections.fibers() == nullptr) {
      work();
    } else {
      fibers.run_soon(std::move(work));
    }
  }

  // Each for one session, until it is given back.
  std::unique_ptr<Workspace> borrow_workspace() {
    if (spare_.empty()) return std::make_unique<Workspace>();
    auto workspace = std::move(spare_.back());
    spare_.pop_back();
    return workspace;
  }
  void give_back(std::unique_ptr<Workspace> workspace) { spare_.push_back(std::move(workspace)); }

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
  net::Fibers fibers;
  net::ConnectionSet connections;
  SyncGate gate;
  LoopMetrics metrics;

 private:
  static constexpr Duration kLastLook = std::chrono::milliseconds(5);

  bool deliver(std::uint64_t client, const Answer& answer) {
    bool is_delivered = false;
    connections.with(client, [&](net::Connection& connection) {
      is_delivered = connection.resume(answer.bytes, gate.needed(answer.ticket));
    });
    return is_delivered;
  }

  std::vector<std::unique_ptr<Workspace>> spare_;  // as many as sessions were at work at a time
};

}  // namespace mete::server
