// The messages of envoy.service.ratelimit.v3, as Envoy publishes them. What is not here, such as a raw body, is skipped
// in requests and absent from answers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "server/envoy/rules.h"
#include "wire/grpc/proto_message.h"

namespace mete::server::proto {

struct UInt64Value {
  static constexpr std::string_view kProto = "google.protobuf.UInt64Value";
  static void visit_proto(auto& value, auto&& each) { each(1, "value", value.value); }
  std::uint64_t value = 0;
};

struct ProtoDuration {
  static constexpr std::string_view kProto = "google.protobuf.Duration";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "seconds", value.seconds);
    each(2, "nanos", value.nanos);
  }
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
};

struct DescriptorEntry {
  static constexpr std::string_view kProto = "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "key", value.key);
    each(2, "value", value.value);
  }
  std::string key;
  std::string value;
};

// The same units under the name that requests have for them.
enum class RequestedUnit : std::int32_t {};

struct RateLimitOverride {
  static constexpr std::string_view kProto =
      "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "requests_per_unit", value.requests_per_unit);
    each(2, "unit", value.unit);
  }
  std::uint32_t requests_per_unit = 0;
  RequestedUnit unit = {};
};

struct RateLimitDescriptor {
  static constexpr std::string_view kProto = "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "entries", value.entries);
    each(2, "limit", value.limit);
    each(3, "hits_addend", value.hits_addend);
    each(4, "is_negative_hits", value.is_negative_hits);
  }
  std::vector<DescriptorEntry> entries;
  std::optional<RateLimitOverride> limit;
  std::optional<UInt64Value> hits_addend;
  bool is_negative_hits = false;
};

struct RateLimitRequest {
  static constexpr std::string_view kProto = "envoy.service.ratelimit.v3.RateLimitRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "domain", value.domain);
    each(2, "descriptors", value.descriptors);
    each(3, "hits_addend", value.hits_addend);
  }
  std::string domain;
  std::vector<RateLimitDescriptor> descriptors;
  std::uint32_t hits_addend = 0;
};

enum class RateLimitCode : std::int32_t { kUnknown, kOk, kOverLimit };

struct CurrentLimit {
  static constexpr std::string_view kProto = "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "requests_per_unit", value.requests_per_unit);
    each(2, "unit", value.unit);
    each(3, "name", value.name);
  }
  std::uint32_t requests_per_unit = 0;
  envoy::RateUnit unit = envoy::RateUnit::kUnknown;
  std::string name;
};

struct DescriptorStatus {
  static constexpr std::string_view kProto = "envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "code", value.code);
    each(2, "current_limit", value.current_limit);
    each(3, "limit_remaining", value.limit_remaining);
    each(4, "duration_until_reset", value.duration_until_reset);
  }
  RateLimitCode code = RateLimitCode::kOk;
  std::optional<CurrentLimit> current_limit;
  std::uint32_t limit_remaining = 0;
  std::optional<ProtoDuration> duration_until_reset;
};

struct HeaderValue {
  static constexpr std::string_view kProto = "envoy.config.core.v3.HeaderValue";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "key", value.key);
    each(2, "value", value.value);
  }
  std::string key;
  std::string value;
};

struct RateLimitResponse {
  static constexpr std::string_view kProto = "envoy.service.ratelimit.v3.RateLimitResponse";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "overall_code", value.overall_code);
    each(2, "statuses", value.statuses);
    each(3, "response_headers_to_add", value.response_headers_to_add);
  }
  RateLimitCode overall_code = RateLimitCode::kOk;
  std::vector<DescriptorStatus> statuses;
  std::vector<HeaderValue> response_headers_to_add;
};

// --- kuadrant.service.ratelimit.v1, as Kuadrant publishes it ---------------------------------------------------------

struct ReserveRequest {
  static constexpr std::string_view kProto = "kuadrant.service.ratelimit.v1.ReserveRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "domain", value.domain);
    each(2, "descriptors", value.descriptors);
    each(3, "amount", value.amount);
    each(4, "ttl", value.ttl);
  }
  std::string domain;
  std::vector<RateLimitDescriptor> descriptors;
  std::uint64_t amount = 0;
  std::optional<ProtoDuration> ttl;
};

struct ReserveResponse {
  static constexpr std::string_view kProto = "kuadrant.service.ratelimit.v1.ReserveResponse";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "code", value.code);
    each(2, "reservation_id", value.reservation_id);
  }
  RateLimitCode code = RateLimitCode::kOk;
  std::string reservation_id;
};

struct CommitReservationRequest {
  static constexpr std::string_view kProto = "kuadrant.service.ratelimit.v1.CommitRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "domain", value.domain);
    each(2, "descriptors", value.descriptors);
    each(3, "reservation_id", value.reservation_id);
    each(4, "actual_amount", value.actual_amount);
  }
  std::string domain;
  std::vector<RateLimitDescriptor> descriptors;
  std::string reservation_id;
  std::uint64_t actual_amount = 0;
};

struct CommitResponse {
  static constexpr std::string_view kProto = "kuadrant.service.ratelimit.v1.CommitResponse";
  static void visit_proto(auto& value, auto&& each) { each(1, "reservation_released", value.reservation_released); }
  bool reservation_released = false;
};

}  // namespace mete::server::proto

template <>
struct mete::wire::ProtoEnum<mete::server::envoy::RateUnit> {
  static constexpr std::string_view kProto = "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit";
  static constexpr std::array<std::string_view, 8> kNames = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                                             "DAY",     "MONTH",  "YEAR",   "WEEK"};
};

template <>
struct mete::wire::ProtoEnum<mete::server::proto::RequestedUnit> {
  static constexpr std::string_view kProto = "envoy.type.v3.RateLimitUnit";
  static constexpr auto kNames = ProtoEnum<mete::server::envoy::RateUnit>::kNames;
};

template <>
struct mete::wire::ProtoEnum<mete::server::proto::RateLimitCode> {
  static constexpr std::string_view kProto = "envoy.service.ratelimit.v3.RateLimitResponse.Code";
  static constexpr std::array<std::string_view, 3> kNames = {"UNKNOWN", "OK", "OVER_LIMIT"};
};
