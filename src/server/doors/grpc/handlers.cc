#include "server/doors/grpc/handlers.h"

#include <map>
#include <vector>

#include "base/random.h"
#include "base/try.h"
#include "core/verdict.h"
#include "server/decisions/take_list.h"

namespace mete::server {

namespace {

// The charges of a request, which must outlive them.
std::vector<Charge> charges_of(const std::vector<proto::Charge>& told) {
  std::vector<Charge> charges;
  charges.reserve(told.size());
  for (const proto::Charge& charge : told) charges.push_back({charge.limit, charge.key, charge.cost.value_or(1)});
  return charges;
}

std::vector<std::string> violated_of(std::span<const Charge> charges, const core::Verdict& verdict) {
  const auto names = core::violated_limits(charges, verdict);
  return {names.begin(), names.end()};
}

GrpcFailure invalid(std::string words) { return {wire::GrpcStatus::kInvalidArgument, std::move(words)}; }

bool is_known(proto::TakeMode mode) { return mode >= proto::TakeMode::kTake && mode <= proto::TakeMode::kForce; }

// What a password may not do besides using limits, by the configuration.
std::optional<GrpcFailure> refusal_of(const GrpcContext& context, const proto::TakeRequest& request) {
  if (!is_known(request.mode)) return invalid("mode: there is no such mode");
  const Doorkeeper* const doorkeeper = context.hooks.doorkeeper;
  const bool may_force = doorkeeper == nullptr || doorkeeper->may_force(context.role);
  if (request.mode != proto::TakeMode::kForce || may_force) return std::nullopt;
  return grpc_refuse_force();
}

core::Take take_of(const proto::TakeRequest& request, std::span<const Charge> charges) {
  const Mode mode = request.mode == proto::TakeMode::kUpTo
                        ? Mode::kUpTo
                        : (request.mode == proto::TakeMode::kForce ? Mode::kForce : Mode::kTake);
  return {.charges = charges, .mode = mode, .id = request.id};
}

proto::Decision decision_of(GrpcContext& context, const core::Take& take, const core::Verdict& verdict) {
  context.observer.on_decision(take.charges, verdict.is_allowed, verdict.violated);
  proto::Decision decision{verdict, violated_of(take.charges, verdict), std::nullopt};
  if (take.mode == Mode::kUpTo) decision.taken = static_cast<std::int64_t>(verdict.taken);
  return decision;
}

// What is wrong with one of many is no end of the others.
proto::TakeAnswer answer_of(GrpcContext& context, const core::Take& take, const Result<core::Verdict>& verdict) {
  if (verdict.has_value()) return {decision_of(context, take, *verdict), {}};
  const Error& error = verdict.error();
  return {{}, proto::Failure{std::string(to_string(error.code)), error.message}};
}

Result<Duration, GrpcFailure> ttl_of(std::int64_t ttl_ms) {
  constexpr std::int64_t kMsMax = std::int64_t{366} * 24 * 3'600 * 1'000;
  if (ttl_ms < 1 || ttl_ms > kMsMax) return invalid("ttl_ms must be 1 to " + std::to_string(kMsMax));
  return Duration(std::chrono::milliseconds(ttl_ms));
}

template <class Answer>
GrpcAnswer<Answer> settled(const Result<Settlement>& settlement) {
  if (!settlement) return failure_of(settlement.error());
  return Answer{*settlement};
}

}  // namespace

GrpcFailure failure_of(const Error& error) {
  const auto status = [&] {
    switch (error.code) {
      case ErrorCode::kNoLimit:
      case ErrorCode::kNoHold:
        return wire::GrpcStatus::kNotFound;
      case ErrorCode::kExpired:
      case ErrorCode::kExceeds:
      case ErrorCode::kWrongType:
        return wire::GrpcStatus::kFailedPrecondition;
      case ErrorCode::kMismatch:
        return wire::GrpcStatus::kAlreadyExists;
      case ErrorCode::kOutOfMemory:
        return wire::GrpcStatus::kResourceExhausted;
      case ErrorCode::kUnavailable:
        return wire::GrpcStatus::kUnavailable;
      case ErrorCode::kInvalid:
        break;
    }
    return wire::GrpcStatus::kInvalidArgument;
  }();
  return {status, std::string(to_string(error.code)) + " " + error.message};
}

GrpcFailure grpc_refuse_force() {
  return {wire::GrpcStatus::kPermissionDenied,
          "NOPERM this password may not take by FORCE: see server.use_without_force"};
}

GrpcFailure grpc_refuse_give() {
  return {wire::GrpcStatus::kPermissionDenied, "NOPERM this password may not give back: see server.use_without_give"};
}

GrpcAnswer<proto::Decision> grpc_take(GrpcContext& context, const proto::TakeRequest& request) {
  if (auto refusal = refusal_of(context, request)) return *std::move(refusal);
  const auto charges = charges_of(request.charges);
  const core::Take take = take_of(request, charges);
  const auto verdict = context.store.take(take);
  if (!verdict.has_value()) return failure_of(verdict.error());
  return decision_of(context, take, *verdict);
}

GrpcAnswer<proto::TakeAnswer> grpc_take_of_many(GrpcContext& context, const proto::TakeRequest& request) {
  if (auto refusal = refusal_of(context, request)) return *std::move(refusal);
  const auto charges = charges_of(request.charges);
  const core::Take take = take_of(request, charges);
  return answer_of(context, take, context.store.take(take));
}

std::vector<GrpcAnswer<proto::TakeAnswer>> grpc_takes(GrpcContext& context,
                                                      std::span<const GrpcAnswer<proto::TakeRequest>> requests) {
  std::optional<GrpcFailure> failure;
  std::vector<std::vector<Charge>> charges;
  std::vector<ListedTake> takes;
  charges.reserve(requests.size());
  for (const auto& request : requests) {
    failure = request.has_value() ? refusal_of(context, *request) : std::optional(request.error());
    if (failure) break;
    takes.push_back({.take = take_of(*request, charges.emplace_back(charges_of(request->charges)))});
  }
  take_all(context.store, takes);
  std::vector<GrpcAnswer<proto::TakeAnswer>> answers;
  answers.reserve(requests.size());
  for (const ListedTake& each : takes) answers.emplace_back(answer_of(context, each.take, each.answer));
  if (failure) answers.emplace_back(*std::move(failure));
  return answers;
}

GrpcAnswer<proto::Decision> grpc_peek(GrpcContext& context, const proto::PeekRequest& request) {
  const auto charges = charges_of(request.charges);
  const auto verdict = context.store.take({charges, Mode::kPeek});
  if (!verdict.has_value()) return failure_of(verdict.error());
  return proto::Decision{*verdict, violated_of(charges, *verdict), std::nullopt};
}

GrpcAnswer<proto::Returned> grpc_give(GrpcContext& context, const proto::GiveRequest& request) {
  const Doorkeeper* const doorkeeper = context.hooks.doorkeeper;
  if (doorkeeper != nullptr && !doorkeeper->may_give(context.role)) {
    return grpc_refuse_give();
  }
  return settled<proto::Returned>(context.store.give(charges_of(request.charges), request.id));
}

GrpcAnswer<proto::HoldDecision> grpc_hold(GrpcContext& context, const proto::HoldRequest& request) {
  const auto ttl = TRY(ttl_of(request.ttl_ms));
  const auto charges = charges_of(request.charges);
  const bool is_id_random = request.id.empty();
  const std::string id = is_id_random ? base::random_id() : request.id;
  const auto verdict =
      context.store.hold({.charges = charges, .ttl = ttl, .id = id, .is_id_random = is_id_random, .tag = request.tag});
  if (!verdict.has_value()) return failure_of(verdict.error());
  context.observer.on_decision(charges, verdict->is_allowed, verdict->violated);
  return proto::HoldDecision{id, *verdict, violated_of(charges, *verdict)};
}

GrpcAnswer<proto::Committed> grpc_commit(GrpcContext& context, const proto::CommitRequest& request) {
  return settled<proto::Committed>(context.store.commit({request.id, request.amounts, request.overage}));
}

GrpcAnswer<proto::Returned> grpc_cancel(GrpcContext& context, const proto::CancelRequest& request) {
  return settled<proto::Returned>(context.store.cancel(request.id));
}

GrpcAnswer<proto::Extended> grpc_extend(GrpcContext& context, const proto::ExtendRequest& request) {
  const auto ttl = TRY(ttl_of(request.ttl_ms));
  const auto expires_in = context.store.extend(request.id, ttl);
  if (!expires_in) return failure_of(expires_in.error());
  return proto::Extended{expires_in->ms()};
}

GrpcAnswer<proto::UsageAnswer> grpc_usage(GrpcContext& context, const proto::UsageRequest& request) {
  const auto usage = context.store.usage({request.limit, request.key});
  if (!usage) return failure_of(usage.error());
  return proto::UsageAnswer{*usage};
}

// --- Health ----------------------------------------------------------------------------------------------------------

namespace {

proto::ServingStatus serving_status(const GrpcContext& context, const std::string& service) {
  if (!service.empty() && grpc_files().find_symbol(service) == nullptr) return proto::ServingStatus::kServiceUnknown;
  return context.hooks.why_not_ready() ? proto::ServingStatus::kNotServing : proto::ServingStatus::kServing;
}

}  // namespace

GrpcAnswer<proto::HealthCheckResponse> grpc_check_health(GrpcContext& context,
                                                         const proto::HealthCheckRequest& request) {
  const proto::ServingStatus status = serving_status(context, request.service);
  if (status == proto::ServingStatus::kServiceUnknown) {
    return GrpcFailure{wire::GrpcStatus::kNotFound, "there is no service '" + request.service + "'"};
  }
  return proto::HealthCheckResponse{status};
}

GrpcAnswer<proto::HealthCheckResponse> grpc_watch_health(GrpcContext& context,
                                                         const proto::HealthCheckRequest& request) {
  return proto::HealthCheckResponse{serving_status(context, request.service)};
}

// --- Reflection ------------------------------------------------------------------------------------------------------

namespace {

// A file, and behind it those that it needs.
void add_files(const wire::ProtoFile& file, std::vector<wire::Bytes>& files) {
  files.emplace_back(file.descriptor());
  for (const std::string& name : file.dependencies()) {
    if (const wire::ProtoFile* needed = grpc_files().find_file(name)) add_files(*needed, files);
  }
}

// By the files' names; made once, because everybody may ask for them.
const std::vector<wire::Bytes>& files_with(const wire::ProtoFile& file) {
  static const auto kFiles = [] {
    std::map<std::string, std::vector<wire::Bytes>> all;
    for (const auto& [package, each] : grpc_files().files()) add_files(each, all[each.name()]);
    return all;
  }();
  return kFiles.at(file.name());
}

void reflect(const proto::ReflectionRequest& request, proto::ReflectionResponse& response) {
  response.host = request.host;
  response.request = request;
  const auto tell_file = [&](const wire::ProtoFile* file, const std::string& wanted) {
    if (file == nullptr) {
      response.error = {static_cast<std::int32_t>(wire::GrpcStatus::kNotFound), "'" + wanted + "' is not known here"};
    } else {
      response.files.emplace().files = files_with(*file);
    }
  };
  if (request.file_by_filename) {
    tell_file(grpc_files().find_file(*request.file_by_filename), *request.file_by_filename);
  } else if (request.file_containing_symbol) {
    tell_file(grpc_files().find_symbol(*request.file_containing_symbol), *request.file_containing_symbol);
  } else if (request.all_extension_numbers_of_type) {
    response.extensions = {*request.all_extension_numbers_of_type};
  } else if (request.list_services) {
    auto& services = response.services.emplace().services;
    for (const auto& [package, file] : grpc_files().files()) {
      for (const wire::ProtoServiceText& service : file.services) services.push_back({package + "." + service.name});
    }
  } else {
    response.error = {static_cast<std::int32_t>(wire::GrpcStatus::kUnimplemented), "extensions are not known here"};
  }
}

}  // namespace

GrpcAnswer<proto::ReflectionResponse> grpc_reflect(GrpcContext& /*context*/, const proto::ReflectionRequest& request) {
  proto::ReflectionResponse response;
  reflect(request, response);
  return response;
}

GrpcAnswer<proto::ReflectionResponseAlpha> grpc_reflect_alpha(GrpcContext& /*context*/,
                                                              const proto::ReflectionRequestAlpha& request) {
  proto::ReflectionResponseAlpha response;
  reflect(request, response);
  return response;
}

}  // namespace mete::server
