// About the server itself.
#include <fmt/format.h>

#include "server/doors/http/fields_and_answers.h"
#include "server/doors/http/handlers.h"
#include "server/doors/http/route.h"

namespace mete::server {

Result<wire::HttpResponse> handle_health(HttpCall& /*call*/) {
  return json_answer([](wire::JsonWriter& writer) { writer.member("status", "ok"); });
}

Result<wire::HttpResponse> handle_readiness(HttpCall& call) {
  if (!call.hooks.is_ready()) {
    return problem(503, "the server is not ready: it is starting or stopping", to_string(ErrorCode::kUnavailable));
  }
  if (const store::Persistence* const persistence = call.store.store().persistence()) {
    if (const auto failure = persistence->failure()) return *failure;
  }
  if (const auto remote = call.store.store().remote(); remote && !remote->is_reachable) {
    return problem(503, "the store does not answer: " + fmt::format("{}", fmt::join(remote->nodes, ", ")),
                   to_string(ErrorCode::kUnavailable));
  }
  return json_answer([](wire::JsonWriter& writer) { writer.member("status", "ready"); });
}

Result<wire::HttpResponse> handle_metrics(HttpCall& call) {
  return wire::HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = call.hooks.metrics()};
}

Result<wire::HttpResponse> handle_openapi(HttpCall& /*call*/) {
  return wire::HttpResponse{.content_type = kJsonContentType, .body = openapi_document()};
}

}  // namespace mete::server
