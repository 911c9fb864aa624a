// GrpcSession: one client's conversation in gRPC: HTTP/2 in, answers out, no I/O.
//
//     bytes ── wire::GrpcServer ── events ── GrpcSession ── GrpcMethod::answer ── answers ── wire::GrpcServer ── bytes
//
// Where the store is in this process, a message is answered within receive(), as long as the turn lasts. Where it lies
// elsewhere, each call is answered on a fiber of its own, so that those of one connection do not wait for each other;
// when an answer is there, the connection is woken to call receive() again. The messages of one call are answered in
// their order, and wait while the client takes too few answers.
//
// A password is looked at with each call, and once more before each message after the passwords were replaced.
//
// An answer that tells of what must be on disk waits here for that, and holds up no other call.
//
// What cannot be answered within the client's grpc-timeout is not answered late: it is DEADLINE_EXCEEDED, and counted.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "net/session.h"
#include "server/decisions/sync_gate.h"
#include "server/doors/doorkeeper.h"
#include "server/doors/grpc/method.h"
#include "server/observation/metrics.h"
#include "store/store.h"
#include "wire/grpc/grpc_server.h"

namespace mete::server {

// How a session reaches its connection, and gets what does not come at once.
struct GrpcLater {
  // Runs work on a fiber; none: the store never waits.
  std::function<void(std::function<void()> work)> run_waiting;
  // Does work beside the event loop, and then `done` on its thread; false if too much is waiting already. None: work is
  // done on the spot.
  std::function<bool(std::function<Result<void>()> work, std::function<void(const Result<void>& result)> done)>
      run_beside;
  // Soon after the delay, on the loop's thread.
  std::function<void(Duration delay, std::function<void()> work)> after;
  // There is more to send: the connection is to call receive() soon; nothing if it has gone.
  std::function<void()> wake;
  SyncGate* gate = nullptr;
};

// What is known of a client before its first call.
struct GrpcClient {
  GuessSource source = {};
  bool is_reserved = false;  // its place is kept for the admin and for questions about health
};

struct GrpcReports {
  std::function<void(Admission::Outcome outcome)> wrong_password;
  std::function<void(std::string_view reason)> protocol_error;
  std::function<void(std::string_view path, std::int64_t elapsed_ns)> slow;
};

class GrpcSession final : public net::Session {
 public:
  GrpcSession(store::Store& store, const GrpcHooks& hooks, LoopMetrics& metrics, GrpcLater later = {},
              GrpcReports reports = {}, const GrpcClient& client = {});
  ~GrpcSession() override;

  Received receive(std::string_view input, base::Output& output, std::size_t output_max) override;
  void on_finish() override;
  void on_timeout(base::Output& output) override;
  [[nodiscard]] bool is_stranger() const override;
  [[nodiscard]] bool may_be_silent() const override;
  [[nodiscard]] bool has_answers_to_come() const override;
  [[nodiscard]] std::size_t buffered_bytes() const override;

 private:
  struct Talk;

  Next write(base::Output& output, std::size_t output_max);

  std::shared_ptr<Talk> talk_;  // outlives the session where a call is under way
};

}  // namespace mete::server
