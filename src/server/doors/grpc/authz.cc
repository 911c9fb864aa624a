// envoy.service.auth.v3: Envoy asks whether to let a request pass, and a take answers.
//
// The route's configuration says which limit, and where its key comes from (context_extensions, which no client can
// write): limit, cost, and key or key_from. What a client has written is a key as it stands, and nothing else.
#include <algorithm>
#include <optional>

#include "server/doors/grpc/handlers.h"
#include "server/doors/http/decision.h"
#include "server/envoy/rules.h"
#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::int32_t kTooManyRequests = 429;
constexpr std::int32_t kForbidden = 403;

GrpcFailure wrong_extension(const std::string& words) {
  return {wire::GrpcStatus::kInvalidArgument, "context_extensions: " + words};
}

const std::string* find_extension(const proto::AttributeContext& attributes, std::string_view name) {
  for (const proto::ContextExtension& each : attributes.context_extensions) {
    if (each.key == name) return &each.value;
  }
  return nullptr;
}

// "address", "path" or "header:NAME"; empty if the request has none.
std::string key_by(std::string_view source, const proto::AttributeContext& attributes) {
  constexpr std::string_view kHeader = "header:";
  if (source == "address") {
    const auto& address = attributes.source.address;
    return address && address->socket_address ? address->socket_address->address : std::string();
  }
  if (source == "path") return attributes.request.http.path;
  for (const proto::HttpHeaderEntry& header : attributes.request.http.headers) {
    if (wire::equals_ignoring_case(header.key, source.substr(kHeader.size()))) return header.value;
  }
  return {};
}

bool is_source(std::string_view source) {
  return source == "address" || source == "path" || (source.starts_with("header:") && source.size() > 7);
}

// Of several sources with commas between them the first that the request has. Empty: it has none.
Result<std::string, GrpcFailure> key_to_charge(const proto::AttributeContext& attributes) {
  const std::string* const key = find_extension(attributes, "key");
  const std::string* const from = find_extension(attributes, "key_from");
  if ((key == nullptr) == (from == nullptr)) return wrong_extension("there must be key or key_from");
  if (key != nullptr) return *key;
  std::string_view rest = *from;
  std::string found;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view source = rest.substr(0, end);
    if (!is_source(source)) {
      return wrong_extension("key_from is address, path or header:NAME, not " + wire::quote(source));
    }
    if (found.empty()) found = key_by(source, attributes);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return envoy::shortened(std::move(found), kKeyBytesMax);
}

std::vector<proto::HeaderValueOption> options_of(std::string_view lines) {
  std::vector<proto::HeaderValueOption> headers;
  while (!lines.empty()) {
    const std::size_t colon = lines.find(": ");
    const std::size_t end = lines.find("\r\n");
    headers.push_back({{std::string(lines.substr(0, colon)), std::string(lines.substr(colon + 2, end - colon - 2))}});
    lines.remove_prefix(end + 2);
  }
  return headers;
}

proto::AuthzResponse refused(std::int32_t status, std::string words, std::vector<proto::HeaderValueOption> headers) {
  const auto code =
      status == kTooManyRequests ? wire::GrpcStatus::kResourceExhausted : wire::GrpcStatus::kPermissionDenied;
  return {.status = {static_cast<std::int32_t>(code), std::move(words)},
          .denied_response = proto::DeniedHttpResponse{{status}, std::move(headers)},
          .ok_response = {}};
}

}  // namespace

GrpcAnswer<proto::AuthzResponse> grpc_authorize(GrpcContext& context, const proto::AuthzRequest& request) {
  const proto::AttributeContext& attributes = request.attributes;
  const std::string* const limit = find_extension(attributes, "limit");
  if (limit == nullptr) return wrong_extension("limit is missing");
  const std::string* const told_cost = find_extension(attributes, "cost");
  const auto cost = told_cost == nullptr ? std::optional<std::int64_t>(1) : wire::parse_integer(*told_cost);
  if (!cost || *cost < 1) return wrong_extension("cost must be an integer from 1");
  const auto key = key_to_charge(attributes);
  if (!key) return key.error();
  // Whoever leaves its key out must not pass for nothing, whatever Envoy does with errors.
  if (key->empty()) return refused(kForbidden, "the request has nothing to be counted by", {});
  const Charge charges[] = {{*limit, *key, *cost}};
  const auto verdict = context.store.take({charges});
  if (!verdict.has_value()) return failure_of(verdict.error());
  context.observer.on_decision(charges, verdict->is_allowed, verdict->violated);
  wire::HttpResponse response;
  add_decision_headers(context.store, {*verdict, charges}, response);
  auto headers = options_of(response.headers);
  if (!verdict->is_allowed) return refused(kTooManyRequests, "too little is left of " + *limit, std::move(headers));
  return proto::AuthzResponse{
      .status = {}, .denied_response = {}, .ok_response = proto::OkHttpResponse{std::move(headers)}};
}

}  // namespace mete::server
