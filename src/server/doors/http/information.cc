// About the server itself.
#include "server/doors/http/fields_and_answers.h"
#include "server/doors/http/handlers.h"
#include "server/doors/http/route.h"

namespace mete::server {

Result<wire::HttpResponse> handle_health(HttpCall& call) {
  if (const store::Persistence* const persistence = call.store.store().persistence()) {
    if (const auto failure = persistence->failure()) return *failure;  // nothing but a new start helps
  }
  return json_answer([](wire::JsonWriter& writer) { writer.member("status", "ok"); });
}

Result<wire::HttpResponse> handle_readiness(HttpCall& call) {
  if (const auto reason = call.hooks.why_not_ready ? call.hooks.why_not_ready() : std::nullopt) {
    return problem(503, *reason, to_string(ErrorCode::kUnavailable));
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
