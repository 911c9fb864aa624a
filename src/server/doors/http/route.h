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
#include "server/decisions/waking_store.h"
#include "server/doors/doorkeeper.h"
#include "server/doors/http/schema.h"
#include "wire/http_request.h"
#include "wire/http_response.h"
#include "wire/json.h"
#include "wire/uri.h"

namespace mete::sync {
class Worker;
}

namespace mete::server {

// Who sends a request, as far as it has shown that.
struct HttpCaller {
  bool has_shown_token = false;
  Admission admission = {};   // of the token
  bool is_admin = false;      // without one: none is needed
  bool is_reserved = false;   // on a connection that is kept for the admin and for questions about health
  bool may_be_named = false;  // by any Host: TLS has seen to the name
  [[nodiscard]] bool has_shown_password() const { return admission.is_right(); }
  [[nodiscard]] std::optional<Role> role() const {
    if (is_admin) return Role::kAdmin;
    return admission.is_right() ? std::optional(admission.shown.identity.role) : std::nullopt;
  }
};

// What the API needs of the server around it. All of it may be called from any thread.
struct HttpHooks {
  std::function<std::string()> metrics;                            // in Prometheus's text format
  std::function<std::optional<std::string>()> why_not_ready = {};  // left out: it is always ready
  Doorkeeper* doorkeeper = nullptr;                                // none: everyone is an admin
  std::vector<std::string> hosts = {};  // by which names browsers may call this server: browsers.h
  sync::Worker* syncs = nullptr;        // of routes about syncs
  WaitQueue* waits = nullptr;           // takes that wait; none: nobody can
};

// Lets a take wait so long, with copies of its names. The answer to its request comes later.
using HttpWait = std::function<void(const core::Take& take, Duration patience)>;

// A request that has been found its route, and checked against it.
struct HttpCall {
  WakingStore store;
  const HttpHooks& hooks;
  DecisionObserver& observer;
  const wire::HttpRequest& request;
  std::vector<std::string> parameters;      // of the path, in its order
  std::vector<wire::QueryParameter> query;  // only what the route has
  Role role = Role::kAdmin;                 // the caller's
  // An object of the route's schema, an empty one where there is none; or an array of such objects, of a list's.
  wire::JsonValue body;
  const HttpWait* wait = nullptr;  // null: no take can wait

  [[nodiscard]] const std::string* find_query(std::string_view name) const;
};

struct QuerySpec {
  std::string_view name;
  MemberType type;
  bool is_required;
  std::string_view summary;
  bool takes_rest = false;  // the last one: all behind its '=' is its value as it stands, '&' and '%' with it
};

// A check of this path and of any below it: proxies put the path of their client's request behind it.
inline constexpr std::string_view kCheckPath = "/v1/check";
// Its parameter for what a client has written, which must not be read as anything else.
inline constexpr std::string_view kRawKey = "raw_key";

// In the order in which a row reads best.
struct Route {              // NOLINT(clang-analyzer-optin.performance.Padding)
  std::string_view name;    // in the OpenAPI document, and so in clients made from it
  std::string_view method;  // HEAD works where GET does; *: any, with any body, which is not read
  std::string_view path;    // segments in braces are parameters
  Access access;
  std::string_view summary;
  std::span<const QuerySpec> query;
  const Schema* body;  // null: none is allowed
  bool needs_body;
  int status;                     // of success
  std::string_view content_type;  // of success; empty: no body
  const Schema* answer;           // null: not JSON, or not described here
  std::array<int, 6> others;      // what else may come, besides 400, 401, 403, 421 and 503; zeros at the end
  Result<wire::HttpResponse> (*handle)(HttpCall&);
  bool is_list = false;            // the body is an array of such, and the answer one of answers and problems
  bool has_groups = false;         // of parameters: a name may repeat
  bool changes = method != "GET";  // what is kept: another's page must not have sent it
  // Takes time in proportion to all there is: runs beside the event loops.
  bool is_slow = method == "PUT" || method == "DELETE";
};

std::span<const Route> http_routes();

// The description of the API in OpenAPI 3.1, made of the routes and their schemas when it is first asked for.
const std::string& openapi_document();

}  // namespace mete::server
