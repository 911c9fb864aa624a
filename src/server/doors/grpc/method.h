// GrpcMethod: what can be called by gRPC, declared once: methods.cc has the table. Dispatch, the rights, reflection,
// the .proto files and docs/grpc.md come from it.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/decisions/decision_observer.h"
#include "server/decisions/waking_store.h"
#include "server/doors/doorkeeper.h"
#include "wire/grpc/grpc_server.h"
#include "wire/grpc/proto_message.h"

namespace mete::server {

namespace envoy {
class RuleBook;
}

// What the calls need of the server around them. All of it may be called from any thread.
struct GrpcHooks {
  std::function<std::optional<std::string>()> why_not_ready;
  Doorkeeper* doorkeeper = nullptr;    // none: everyone is an admin
  WaitQueue* waits = nullptr;          // takes that wait; none: nobody can
  envoy::RuleBook* rules = nullptr;    // none: Envoy's rate limit service is not configured
  bool adds_response_headers = false;  // to what Envoy is answered
  Duration connection_age = {};        // zero: any
  // A call that took so long or longer is told of to GrpcReports::slow; none: no call is.
  const std::atomic<std::int64_t>* slow_ns = nullptr;
};

// What the handler of a message works with.
struct GrpcContext {
  WakingStore store;
  const GrpcHooks& hooks;
  DecisionObserver& observer;
  Role role = Role::kAdmin;
};

// How a call ends that has no answer; or what has to be done before there can be one.
struct GrpcFailure {
  wire::GrpcStatus status = wire::GrpcStatus::kUnknown;
  std::string words = {};
  // It may take long. When it is done the message is answered as if it had come then. None: that was the end.
  std::function<Result<void>(store::Store& store)> preparation = {};
};

struct GrpcMethod {
  std::string path;  // "/mete.v1.Mete/Take"
  Access access = Access::kUse;
  bool has_many_requests = false;  // each is answered, in order; else there is one
  bool is_watch = false;           // after its answer the call stays open, and is told of changes of readiness
  // The answer's bytes to a request's.
  Result<std::string, GrpcFailure> (*answer)(GrpcContext& context, std::string_view request) = nullptr;
  // The same of messages of one call that have come together, where these can share their way to the store; null: they
  // cannot. The first failure is the end of the call.
  std::vector<Result<std::string, GrpcFailure>> (*answer_many)(GrpcContext& context,
                                                               std::span<const std::string> requests) = nullptr;
};

std::span<const GrpcMethod> grpc_methods();
// Null if there is none.
const GrpcMethod* find_grpc_method(std::string_view path);
// The packages of all methods.
const wire::ProtoFiles& grpc_files();

GrpcFailure failure_of(const Error& error);
// Where server.use_without_give says so.
GrpcFailure grpc_refuse_give();
// The same by server.use_without_force.
GrpcFailure grpc_refuse_force();

}  // namespace mete::server
