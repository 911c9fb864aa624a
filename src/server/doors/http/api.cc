#include "server/doors/http/api.h"

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
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
    if (method == route.method || (is_get && method == "HEAD")) match.route = &route;
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

std::optional<std::string_view> bearer_token(const wire::HttpRequest& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto value = request.header("Authorization");
  if (!value || !wire::equals_ignoring_case(value->substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return value->substr(kScheme.size());
}

Result<std::vector<wire::QueryParameter>> read_query(std::string_view query, const Route& route) {
  auto parameters = TRY(wire::split_query(query));
  for (const wire::QueryParameter& parameter : parameters) {
    if (std::none_of(route.query.begin(), route.query.end(),
                     [&](const QuerySpec& spec) { return spec.name == parameter.name; })) {
      return base::invalid("query: unknown parameter " + wire::quote(parameter.name));
    }
  }
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
  if (body.empty() && !route.needs_body) return wire::JsonValue{wire::JsonObject()};
  if (body.empty()) {
    return base::invalid(route.is_list ? "the body is missing: it must be a JSON array"
                                       : "the body is missing: it must be a JSON object");
  }
  if (route.body == nullptr) return base::invalid(std::string(route.method) + " takes no body here");
  auto value = TRY(wire::read_json(body));
  TRY(route.is_list ? check_list(value, *route.body) : check_object(value, *route.body));
  return value;
}

}  // namespace

bool HttpApi::is_slow(const wire::HttpRequest& request) const {
  if (request.method == "GET" || request.method == "POST" || request.method == "HEAD") return false;
  const auto target = wire::split_target(request.target);
  const auto segments = target ? wire::split_path(target->path) : target.error();
  if (!segments) return false;
  const Match match = find_route(request.method, *segments);
  // Who may not do it is refused on the spot: that is quick, and a wrong password is seen to there.
  return match.route != nullptr && match.route->access == Access::kAdmin && !refuse(request, Access::kAdmin);
}

wire::HttpResponse HttpApi::handle(const wire::HttpRequest& request, DecisionObserver& observer,
                                   store::Execution& execution) const {
  auto response = answer(request, observer, execution);
  // A decision that a cache repeats is none.
  response.add_header("Cache-Control", "no-store");
  return response;
}

wire::HttpResponse HttpApi::answer(const wire::HttpRequest& request, DecisionObserver& observer,
                                   store::Execution& execution) const {
  const auto target = wire::split_target(request.target);
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
  if (auto refusal = refuse(request, route.access)) return *std::move(refusal);
  auto query = read_query(target->query, route);
  if (!query) return problem(query.error());
  if (!request.body.empty() && route.body != nullptr) {
    if (auto refusal = refuse_form(request)) return *std::move(refusal);
  }
  auto body = read_body(request.body, route);
  if (!body) return problem(body.error());
  HttpCall call{.store = {store_, execution},
                .hooks = hooks_,
                .observer = observer,
                .parameters = take_parameters(route.path, *std::move(segments)),
                .query = *std::move(query),
                .body = *std::move(body)};
  auto response = route.handle(call);
  if (request.method != "GET" && hooks_.on_change) hooks_.on_change();
  return response ? *std::move(response) : problem(response.error());
}

std::optional<wire::HttpResponse> HttpApi::refuse(const wire::HttpRequest& request, Access access) const {
  if (access == Access::kAnyone || !hooks_.needs_authentication) return std::nullopt;
  const auto token = bearer_token(request);
  if (!token) {
    return unauthorized(R"(Bearer realm="mete")", "send the password as Authorization: Bearer PASSWORD");
  }
  const auto role = hooks_.authenticate(*token);
  if (!role) return unauthorized(R"(Bearer realm="mete", error="invalid_token")", "the token is not a password here");
  if (access == Access::kAdmin && *role != Role::kAdmin) {
    return problem(403, "the token may use limits, not change them: this takes the admin's", "NOPERM");
  }
  return std::nullopt;
}

}  // namespace mete::server
