// The messages of grpc.health.v1, as gRPC publishes them.
#pragma once

#include <array>
#include <string>

#include "wire/grpc/proto_message.h"

namespace mete::server::proto {

enum class ServingStatus : std::int32_t { kUnknown, kServing, kNotServing, kServiceUnknown };

struct HealthCheckRequest {
  static constexpr std::string_view kProto = "grpc.health.v1.HealthCheckRequest";
  static void visit_proto(auto& value, auto&& each) { each(1, "service", value.service); }
  std::string service;
};

struct HealthCheckResponse {
  static constexpr std::string_view kProto = "grpc.health.v1.HealthCheckResponse";
  static void visit_proto(auto& value, auto&& each) { each(1, "status", value.status); }
  ServingStatus status = ServingStatus::kUnknown;
};

}  // namespace mete::server::proto

template <>
struct mete::wire::ProtoEnum<mete::server::proto::ServingStatus> {
  static constexpr std::string_view kProto = "grpc.health.v1.ServingStatus";
  static constexpr std::array<std::string_view, 4> kNames = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
};
