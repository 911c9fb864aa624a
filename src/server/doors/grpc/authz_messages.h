// The messages of envoy.service.auth.v3, as Envoy publishes them: what is read of a request, and what answers have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/doors/grpc/rate_limit_messages.h"
#include "wire/grpc/proto_message.h"

namespace mete::server::proto {

struct SocketAddress {
  static constexpr std::string_view kProto = "envoy.config.core.v3.SocketAddress";
  static void visit_proto(auto& value, auto&& each) { each(2, "address", value.address); }
  std::string address;
};

struct Address {
  static constexpr std::string_view kProto = "envoy.config.core.v3.Address";
  static void visit_proto(auto& value, auto&& each) { each(1, "socket_address", value.socket_address); }
  std::optional<SocketAddress> socket_address;
};

struct Peer {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.AttributeContext.Peer";
  static void visit_proto(auto& value, auto&& each) { each(1, "address", value.address); }
  std::optional<Address> address;
};

// An entry of a map is a message of two fields. Values are any bytes: clients write them.
struct HttpHeaderEntry {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.AttributeContext.HttpRequest.HeadersEntry";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "key", value.key);
    each(2, "value", value.value);
  }
  std::string key;
  wire::Bytes value;
};

struct HttpRequestAttributes {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.AttributeContext.HttpRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(3, "headers", value.headers);
    each(4, "path", value.path);
  }
  std::vector<HttpHeaderEntry> headers;  // their names in small letters
  wire::Bytes path;                      // with its query
};

struct RequestAttributes {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.AttributeContext.Request";
  static void visit_proto(auto& value, auto&& each) { each(2, "http", value.http); }
  HttpRequestAttributes http;
};

// What the route's configuration says, and no client.
struct ContextExtension {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.AttributeContext.ContextExtensionsEntry";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "key", value.key);
    each(2, "value", value.value);
  }
  std::string key;
  std::string value;
};

struct AttributeContext {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.AttributeContext";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "source", value.source);
    each(4, "request", value.request);
    each(10, "context_extensions", value.context_extensions);
  }
  Peer source;
  RequestAttributes request;
  std::vector<ContextExtension> context_extensions;
};

struct AuthzRequest {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.CheckRequest";
  static void visit_proto(auto& value, auto&& each) { each(1, "attributes", value.attributes); }
  AttributeContext attributes;
};

struct RpcStatus {
  static constexpr std::string_view kProto = "google.rpc.Status";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "code", value.code);
    each(2, "message", value.message);
  }
  std::int32_t code = 0;
  std::string message;
};

struct HttpStatus {
  static constexpr std::string_view kProto = "envoy.type.v3.HttpStatus";
  static void visit_proto(auto& value, auto&& each) { each(1, "code", value.code); }
  std::int32_t code = 0;
};

struct HeaderValueOption {
  static constexpr std::string_view kProto = "envoy.config.core.v3.HeaderValueOption";
  static void visit_proto(auto& value, auto&& each) { each(1, "header", value.header); }
  HeaderValue header;
};

struct DeniedHttpResponse {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.DeniedHttpResponse";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "status", value.status);
    each(2, "headers", value.headers);
  }
  HttpStatus status;
  std::vector<HeaderValueOption> headers;
};

struct OkHttpResponse {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.OkHttpResponse";
  static void visit_proto(auto& value, auto&& each) {
    each(6, "response_headers_to_add", value.response_headers_to_add);
  }
  std::vector<HeaderValueOption> response_headers_to_add;
};

struct AuthzResponse {
  static constexpr std::string_view kProto = "envoy.service.auth.v3.CheckResponse";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "status", value.status);
    each(2, "denied_response", value.denied_response);
    each(3, "ok_response", value.ok_response);
  }
  RpcStatus status;
  std::optional<DeniedHttpResponse> denied_response;
  std::optional<OkHttpResponse> ok_response;
};

}  // namespace mete::server::proto
