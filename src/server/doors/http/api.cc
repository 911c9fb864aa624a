#include "server/doors/http/api.h"

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "server/doors/http/browsers.h"
#include "server/doors/http/decision.h"
#include "server/doors/http/fields_and_answers.h"
#include "wire/text.h"

namespace mete::server {

namespace {

bool is_parameter(std::string_view segment) { return segment.starts_with('{'); }

// Whether the path is one of the template's; parameters are never empty.
bool matches(std::string_view path_template, std::span<const std::string> segments) {
  for (const std::string& segment : segments) {
    if (path_template.empty()) return false;
    path_template.remove_prefix(1);
    const std::size_t end = std::min(path_template.find('/'), path_template.size());
    const std::string_view wanted = path_template.substr(0, end);
    if (is_parameter(wanted) ? segment.empty() : segment != wanted) return false;
    path_template.remove_prefix(end);
  }
  return path_template.empty();
}

std::vector<std::string> take_parameters(std::string_view path_template, std::vector<std::string> segments) {
  std::vector<std::string> parameters;
  for (std::string& segment : segments) {
    path_template.remove_prefix(1);
    if (is_parameter(path_template)) parameters.push_back(std::move(segment));
    path_template.remove_prefix(std::min(path_template.find('/'), path_template.size()));
  }
  return parameters;
}

struct Match {
  const Route* route = nullptr;
  std::string allowed_methods;  // of the path; empty if there is no such path
};

Match find_route(std::string_view method, std::span<const std::string> segments) {
  Match match;
  for (const Route& route : http_routes()) {
    if (!matches(route.path, segments)) continue;
    const bool is_get = route.method == "GET";
    if (method == route.method || route.method == "*" || (is_get && method == "HEAD")) match.route = &route;
    match.allowed_methods += (match.allowed_methods.empty() ? "" : ", ") + std::string(route.method);
    if (is_get) match.allowed_methods += ", HEAD";
  }
  return match;
}

wire::HttpResponse unauthorized(std::string_view challenge, std::string_view detail) {
  auto response = problem(401, detail, "NOAUTH");
  response.add_header("WWW-Authenticate", challenge);
  return response;
}

constexpr std::string_view kChallenge = R"(Bearer realm="mete")";

wire::HttpResponse refuse_token(const Admission& admission) {
  constexpr std::string_view kInvalid = R"(Bearer realm="mete", error="invalid_token")";
  if (admission.outcome != Admission::Outcome::kNotLookedAt) {
    return unauthorized(kInvalid, "the token is not a password here");
  }
  const std::string seconds = std::to_string(admission.wait.seconds());
  auto response = unauthorized(
      kInvalid,
      "there were too many wrong tokens from this address: this one was not looked at; try again in " + seconds + "s");
  response.add_header("Retry-After", seconds);
  return response;
}

// Below the path of checks stands what a proxy's client has asked for: its path and query say nothing here.
Result<wire::Target> target_of(const wire::HttpRequest& request) {
  auto target = wire::split_target(request.target);
  const bool is_below = target && target->path.starts_with(kCheckPath) && target->path.size() > kCheckPath.size() &&
                        target->path[kCheckPath.size()] == '/';
  if (is_below) return wire::Target{kCheckPath, {}};
  return target;
}

// The parameter whose value is all that follows, and which goes from the query with that.
std::optional<wire::QueryParameter> cut_rest(std::string_view& query, const Route& route) {
  for (const QuerySpec& spec : route.query) {
    if (!spec.takes_rest) continue;
    const std::string mark = std::string(spec.name) + "=";
    std::size_t at = query.starts_with(mark) ? 0 : query.find("&" + mark);
    if (at == std::string_view::npos) continue;
    const std::size_t value = query.find('=', at) + 1;
    wire::QueryParameter parameter{std::string(spec.name), std::string(query.substr(value))};
    query = query.substr(0, at);
    return parameter;
  }
  return std::nullopt;
}

Result<std::vector<wire::QueryParameter>> read_query(std::string_view query, const Route& route) {
  auto rest = cut_rest(query, route);
  auto parameters = TRY(wire::split_query(query, route.has_groups ? wire::Names::kMayRepeat : wire::Names::kOnce));
  for (const wire::QueryParameter& parameter : parameters) {
    if (std::none_of(route.query.begin(), route.query.end(),
                     [&](const QuerySpec& spec) { return spec.name == parameter.name && !spec.takes_rest; })) {
      return base::invalid("query: unknown parameter " + wire::quote(parameter.name));
    }
  }
  if (rest) parameters.push_back(*std::move(rest));
  for (const QuerySpec& spec : route.query) {
    if (spec.is_required && std::none_of(parameters.begin(), parameters.end(),
                                         [&](const auto& parameter) { return parameter.name == spec.name; })) {
      return base::invalid("query: " + std::string(spec.name) + " is missing");
    }
  }
  return parameters;
}

// "application/json", whatever parameters follow: JSON is UTF-8, and that is checked. What curl calls a body that it
// was not told the type of will do as well, but not from a browser: any page could send us that, and JSON it can not.
bool is_json(const wire::HttpRequest& request) {
  std::string_view type = request.header("Content-Type").value_or("");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  if (wire::equals_ignoring_case(type, kJsonContentType)) return true;
  const bool is_untold = type.empty() || wire::equals_ignoring_case(type, "application/x-www-form-urlencoded");
  return is_untold && !request.header("Origin");
}

// Compressed, it would have to be unpacked before its size is known.
bool is_encoded(const wire::HttpRequest& request) {
  const auto encoding = request.header("Content-Encoding");
  return encoding && !encoding->empty() && !wire::equals_ignoring_case(*encoding, "identity");
}

std::optional<wire::HttpResponse> refuse_form(const wire::HttpRequest& request) {
  if (is_encoded(request)) {
    auto response = problem(415, "send the body as it is: no Content-Encoding is known here");
    response.add_header("Accept-Encoding", "identity");
    return response;
  }
  if (!is_json(request)) return problem(415, "the body must have the Content-Type application/json");
  return std::nullopt;
}

Result<wire::JsonValue> read_body(std::string_view body, const Route& route) {
  if (route.method == "*" || (body.empty() && !route.needs_body)) return wire::JsonValue{wire::JsonObject()};
  if (body.empty()) {
    return base::invalid(route.is_list ? "the body is missing: it must be a JSON array"
                                       : "the body is missing: it must be a JSON object");
  }
  if (route.body == nullptr) return base::invalid(std::string(route.method) + " takes no body here");
  auto value = TRY(wire::read_json(body));
  TRY(route.is_list ? check_list(value, *route.body) : check_object(value, *route.body));
  return value;
}

// A decision that a cache repeats is none.
void forbid_caching(wire::HttpResponse& response) { response.add_header("Cache-Control", "no-store"); }

}  // namespace

std::optional<std::string_view> bearer_token(const wire::HttpRequest& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto value = request.header("Authorization");
  if (!value || !wire::equals_ignoring_case(value->substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return value->substr(kScheme.size());
}

HttpCaller HttpApi::identify(const wire::HttpRequest& request, const GuessSource& source) const {
  HttpCaller caller;
  if (hooks_.doorkeeper == nullptr || !hooks_.doorkeeper->is_needed()) {
    caller.is_admin = true;
  } else if (const auto token = bearer_token(request)) {
    caller.has_shown_token = true;
    caller.admission = hooks_.doorkeeper->admit(*token, source);
  }
  return caller;
}

const Route* HttpApi::slow_route(const wire::HttpRequest& request, const HttpCaller& caller) const {
  if (request.method == "POST") return nullptr;
  const auto target = target_of(request);
  const auto segments = target ? wire::split_path(target->path) : target.error();
  if (!segments) return nullptr;
  const Route* const route = find_route(request.method, *segments).route;
  // Who may not do it is refused on the spot: that is quick, and a wrong password is seen to there.
  return route != nullptr && route->is_slow && !refuse(request, caller, *route) ? route : nullptr;
}

std::optional<wire::HttpResponse> HttpApi::refuse_head(const wire::HttpRequest& request,
                                                       const HttpCaller& caller) const {
  const auto target = target_of(request);
  const auto segments = target ? wire::split_path(target->path) : target.error();
  const Match match = segments ? find_route(request.method, *segments) : Match{};
  // What is no route is said once the request is whole, to whom it may concern.
  if (match.route == nullptr) {
    return caller.role() ? std::nullopt : std::optional(unauthorized(kChallenge, "no body is read without a password"));
  }
  if (match.route->access == Access::kAnyone) return problem(413, "nothing is read here without a password");
  return refuse(request, caller, *match.route);
}

wire::HttpResponse HttpApi::handle(const wire::HttpRequest& request, const HttpCaller& caller,
                                   DecisionObserver& observer, store::Execution& execution,
                                   const HttpWait* wait) const {
  auto response = answer(request, caller, observer, execution, wait);
  forbid_caching(response);
  return response;
}

wire::HttpResponse HttpApi::answer_waited(const core::Take& take, const Result<core::Verdict>& verdict,
                                          DecisionObserver& observer) const {
  store::Execution execution = {.waits_for_disk = false};
  WakingStore store(hooks_.waits, store_, execution);
  ChargeUsages usages;
  core::Take told = take;
  told.usages = std::span(usages).first(take.charges.size());
  auto response = verdict.has_value() ? take_answer(store, observer, told, *verdict) : problem(verdict.error());
  forbid_caching(response);
  return response;
}

wire::HttpResponse HttpApi::answer(const wire::HttpRequest& request, const HttpCaller& caller,
                                   DecisionObserver& observer, store::Execution& execution,
                                   const HttpWait* wait) const {
  const auto target = target_of(request);
  if (!target) return problem(target.error());
  auto segments = wire::split_path(target->path);
  if (!segments) return problem(segments.error());
  const Match match = find_route(request.method, *segments);
  if (match.allowed_methods.empty()) return problem(404, "no such path: /openapi.json lists them");
  if (match.route == nullptr) {
    auto response = problem(405, "this path takes " + match.allowed_methods);
    response.add_header("Allow", match.allowed_methods);
    return response;
  }
  const Route& route = *match.route;
  if (auto refusal = refuse(request, caller, route)) return *std::move(refusal);
  auto query = read_query(target->query, route);
  if (!query) return problem(query.error());
  if (!request.body.empty() && route.body != nullptr) {
    if (auto refusal = refuse_form(request)) return *std::move(refusal);
  }
  auto body = read_body(request.body, route);
  if (!body) return problem(body.error());
  HttpCall call{.store = {hooks_.waits, store_, execution},
                .hooks = hooks_,
                .observer = observer,
                .request = request,
                .parameters = take_parameters(route.path, *std::move(segments)),
                .query = *std::move(query),
                .role = caller.role().value_or(Role::kLook),
                .body = *std::move(body),
                .wait = wait};
  auto response = route.handle(call);
  return response ? *std::move(response) : problem(response.error());
}

std::optional<wire::HttpResponse> HttpApi::refuse(const wire::HttpRequest& request, const HttpCaller& caller,
                                                  const Route& route) const {
  if (route.access == Access::kAnyone) return std::nullopt;
  const auto role = caller.role();
  if (!role && !caller.has_shown_token) {
    return unauthorized(kChallenge, "send the password as Authorization: Bearer PASSWORD");
  }
  if (!role) return refuse_token(caller.admission);
  if (!allows(*role, route.access)) {
    return problem(403,
                   "the token may " + std::string(*role == Role::kLook ? "look" : "use limits") +
                       " and no more: this takes another one",
                   "NOPERM");
  }
  const bool is_for_reserve = caller.has_shown_password() ? *role == Role::kAdmin : route.access == Access::kAdmin;
  if (caller.is_reserved && !is_for_reserve) {
    return problem(503, "all connections are in use: see server.max_connections", "UNAVAILABLE");
  }
  if (caller.has_shown_password()) return std::nullopt;
  if (!caller.may_be_named && !names_this_server(request.header("Host").value_or("localhost"), hooks_.hosts)) {
    return problem(421,
                   "this server does not know itself by the name in Host: server.http_hosts says by which names "
                   "it is called",
                   "NOPERM");
  }
  return refuse_page(request, route);
}

std::optional<wire::HttpResponse> HttpApi::refuse_page(const wire::HttpRequest& request, const Route& route) const {
  if (!route.changes) return std::nullopt;
  const auto reason = foreign_page(request);
  if (!reason) return std::nullopt;
  // What a proxy asks for its clients has their headers, and is meant for pages of all kinds.
  if (route.method == "*" && is_from_proxy(request)) return std::nullopt;
  return problem(403,
                 "the page of another origin has sent this (" + *reason +
                     "): a server with a password takes it from whoever shows that",
                 "NOPERM");
}

}  // namespace mete::server
