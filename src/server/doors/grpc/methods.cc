#include <algorithm>

#include "base/try.h"
#include "server/doors/grpc/handlers.h"

namespace mete::server {

namespace {

template <class Request>
GrpcAnswer<Request> read(std::string_view bytes) {
  Request request;
  if (wire::read_proto(bytes, request)) return request;
  return GrpcFailure{wire::GrpcStatus::kInvalidArgument,
                     "the message is no " + std::string(Request::kProto) + " in Protocol Buffers"};
}

template <auto kHandle>
struct Handled;
template <class Request, class Answer, GrpcAnswer<Answer> (*kHandle)(GrpcContext&, const Request&)>
struct Handled<kHandle> {
  using RequestType = Request;
  using AnswerType = Answer;

  static Result<std::string, GrpcFailure> answer(GrpcContext& context, std::string_view bytes) {
    const auto request = TRY(read<Request>(bytes));
    const auto made = kHandle(context, request);
    if (!made) return made.error();
    return wire::write_proto(*made);
  }
};

// Of messages that have come together.
std::vector<Result<std::string, GrpcFailure>> answer_takes(GrpcContext& context,
                                                           std::span<const std::string> messages) {
  std::vector<GrpcAnswer<proto::TakeRequest>> requests;
  requests.reserve(messages.size());
  for (const std::string& bytes : messages) requests.push_back(read<proto::TakeRequest>(bytes));
  std::vector<Result<std::string, GrpcFailure>> written;
  written.reserve(messages.size());
  for (const auto& made : grpc_takes(context, requests)) {
    if (made.has_value()) {
      written.emplace_back(wire::write_proto(*made));
    } else {
      written.emplace_back(made.error());
    }
  }
  return written;
}

struct Service {
  std::string_view name;
  std::string_view help;
};
constexpr Service kMete = {"mete.v1.Mete",
                           "Rate limits, quotas and reservations. docs/semantics.md says what each call does."};
constexpr Service kRateLimit = {"envoy.service.ratelimit.v3.RateLimitService", ""};
constexpr Service kKuadrant = {"kuadrant.service.ratelimit.v1.RateLimitService", ""};
constexpr Service kAuthorization = {"envoy.service.auth.v3.Authorization", ""};
constexpr Service kHealth = {"grpc.health.v1.Health", ""};
constexpr Service kReflection = {"grpc.reflection.v1.ServerReflection", ""};
constexpr Service kReflectionAlpha = {"grpc.reflection.v1alpha.ServerReflection", ""};

struct Table {
  std::vector<GrpcMethod> methods;
  wire::ProtoFiles files;

  template <auto kHandle>
  void add(const Service& service, std::string_view name, Access access, std::string_view help,
           bool has_many_requests = false, bool has_many_answers = false) {
    using Types = Handled<kHandle>;
    files.add<typename Types::RequestType>();
    files.add<typename Types::AnswerType>();
    files.add_method(service.name, service.help,
                     {std::string(name), std::string(Types::RequestType::kProto),
                      std::string(Types::AnswerType::kProto), has_many_requests, has_many_answers, std::string(help)});
    methods.push_back(GrpcMethod{.path = "/" + std::string(service.name) + "/" + std::string(name),
                                 .access = access,
                                 .has_many_requests = has_many_requests,
                                 .is_watch = has_many_answers && !has_many_requests,
                                 .answer = Types::answer});
  }
};

const Table& table() {
  static const Table kTable = [] {
    using enum Access;
    constexpr bool kStream = true;
    Table table;
    table.add<grpc_take>(kMete, "Take", kUse, "Take, if it fits, from every limit named.");
    table.add<grpc_take_of_many>(kMete, "Takes", kUse,
                                 "Takes that are independent of each other, each with its answer, in order.", kStream,
                                 kStream);
    table.methods.back().answer_many = answer_takes;
    table.add<grpc_peek>(kMete, "Peek", kLook, "The answer that a take would get; nothing changes.");
    table.add<grpc_give>(kMete, "Give", kUse, "Give back what was taken, and never more than is used.");
    table.add<grpc_hold>(kMete, "Hold", kUse, "Set charges aside until they are committed, cancelled or expire.");
    table.add<grpc_commit>(kMete, "Commit", kUse, "Charge all that is held, or some of it, and return the rest.");
    table.add<grpc_cancel>(kMete, "Cancel", kUse, "Return all that is held.");
    table.add<grpc_extend>(kMete, "Extend", kUse, "Let a hold expire later, or sooner.");
    table.add<grpc_usage>(kMete, "Usage", kLook, "What a key uses of a limit.");
    table.add<grpc_should_rate_limit>(kRateLimit, "ShouldRateLimit", kUse, "");
    table.add<grpc_check_rate_limit>(kKuadrant, "CheckRateLimit", kUse, "");
    table.add<grpc_report>(kKuadrant, "Report", kUse, "");
    table.add<grpc_reserve>(kKuadrant, "Reserve", kUse, "");
    table.add<grpc_commit_reservation>(kKuadrant, "Commit", kUse, "");
    table.add<grpc_authorize>(kAuthorization, "Check", kUse, "");
    table.add<grpc_check_health>(kHealth, "Check", kAnyone, "");
    table.add<grpc_watch_health>(kHealth, "Watch", kAnyone, "", false, kStream);
    table.add<grpc_reflect>(kReflection, "ServerReflectionInfo", kAnyone, "", kStream, kStream);
    table.add<grpc_reflect_alpha>(kReflectionAlpha, "ServerReflectionInfo", kAnyone, "", kStream, kStream);
    return table;
  }();
  return kTable;
}

}  // namespace

std::span<const GrpcMethod> grpc_methods() { return table().methods; }

const GrpcMethod* find_grpc_method(std::string_view path) {
  const auto methods = grpc_methods();
  const auto found = std::find_if(methods.begin(), methods.end(), [&](const auto& each) { return each.path == path; });
  return found == methods.end() ? nullptr : &*found;
}

const wire::ProtoFiles& grpc_files() { return table().files; }

}  // namespace mete::server
