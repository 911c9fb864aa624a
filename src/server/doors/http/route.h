// Route: one operation of the HTTP API, declared once. Dispatch, the checks of parameters and bodies, the answers 404
// and 405, and the OpenAPI document all come from the table of routes in routes.cc.
#pragma once

#include <mete/result.h>

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/decisions/decision_observer.h"
#include "server/doors/authentication.h"
#include "server/doors/http/schema.h"
#include "store/caller.h"
#include "wire/http_response.h"
#include "wire/json.h"
#include "wire/uri.h"

namespace mete::sync {
class Worker;
}

namespace mete::server {

// What the API needs of the server around it. All of it may be called from any thread.
struct HttpHooks {
  std::function<std::string()> metrics;  // in Prometheus's text format
  std::function<bool()> is_ready;
  std::function<std::optional<Role>(std::string_view token)> authenticate;  // none: the token is no good
  bool needs_authentication = false;
  sync::Worker* syncs = nullptr;         // of routes about syncs
  std::function<void()> on_change = {};  // after a request that may have made room for others
};

// A request that has been found its route, and checked against it.
struct HttpCall {
  store::Caller store;
  const HttpHooks& hooks;
  DecisionObserver& observer;
  std::vector<std::string> parameters;      // of the path, in its order
  std::vector<wire::QueryParameter> query;  // only what the route has
  // An object of the route's schema, an empty one where there is none; or an array of such objects, of a list's.
  wire::JsonValue body;

  [[nodiscard]] const std::string* find_query(std::string_view name) const;
};

struct QuerySpec {
  std::string_view name;
  MemberType type;
  bool is_required;
  std::string_view summary;
};

// In the order in which a row reads best.
struct Route {              // NOLINT(clang-analyzer-optin.performance.Padding)
  std::string_view name;    // in the OpenAPI document, and so in clients made from it
  std::string_view method;  // HEAD works where GET does
  std::string_view path;    // segments in braces are parameters
  Access access;
  std::string_view summary;
  std::span<const QuerySpec> query;
  const Schema* body;  // null: none is allowed
  bool needs_body;
  int status;                     // of success
  std::string_view content_type;  // of success; empty: no body
  const Schema* answer;           // null: not JSON, or not described here
  std::array<int, 6> others;      // what else may come, besides 400, 401, 403 and 503; zeros at the end
  Result<wire::HttpResponse> (*handle)(HttpCall&);
  bool is_list = false;  // the body is an array of such, and the answer one of answers and problems
};

std::span<const Route> http_routes();

// The description of the API in OpenAPI 3.1, made of the routes and their schemas when it is first asked for.
const std::string& openapi_document();

}  // namespace mete::server
