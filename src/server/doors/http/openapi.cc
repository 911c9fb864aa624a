// The OpenAPI document.
#include <algorithm>
#include <array>

#include "base/names.h"
#include "server/doors/http/fields_and_answers.h"
#include "server/doors/http/route.h"
#include "server/doors/http/schemas.h"
#include "wire/json.h"

namespace mete::server {

namespace {

using wire::JsonWriter;

struct HeaderSpec {
  std::string_view name;
  std::string_view type;
  std::string_view summary;
  bool is_of_denials = false;
};
constexpr std::array kDecisionHeaders = {
    HeaderSpec{"RateLimit-Policy", "string", "Each limit's quota, and its window in seconds: \"api\";q=100;w=60"},
    HeaderSpec{"RateLimit", "string", "What remains of each, and the seconds until it is fresh: \"api\";r=99;t=30"},
    HeaderSpec{"X-RateLimit-Limit", "integer", "What a fresh meter has, of the tightest charge."},
    HeaderSpec{"X-RateLimit-Remaining", "integer", "What is left of it."},
    HeaderSpec{"X-RateLimit-Reset", "integer", "The Unix time in seconds at which it is fresh again; not for a stock."},
    HeaderSpec{"Mete-Unrecorded", "integer",
               "1 where the store was away and the limit's on_fail admitted it; otherwise absent."},
    HeaderSpec{"Retry-After", "integer", "Seconds; absent if no wait is enough.", true},
};

bool is_decision(const Route& route) {
  return std::find(route.others.begin(), route.others.end(), 429) != route.others.end();
}

bool is_request(const Schema& schema) {
  if (&schema == &schema::kCharge) return true;
  const auto routes = http_routes();
  return std::any_of(routes.begin(), routes.end(), [&](const Route& route) { return route.body == &schema; });
}

void write_reference(std::string_view components, std::string_view name, JsonWriter& writer) {
  const std::string reference = "#/components/" + std::string(components) + "/" + std::string(name);
  writer.begin_object().member("$ref", reference).end_object();
}

std::string_view type_name(MemberType type) {
  const std::string_view name = base::name_of("string|integer|boolean", type);
  return name.empty() ? "array" : name;
}

// The members of a type's schema, in an object that has been begun.
void write_type(const MemberSpec& member, JsonWriter& writer) {
  const MemberType type = member.type;
  if (type == MemberType::kDuration) {
    writer.name("type").begin_array().string("string").string("integer").end_array();
    return;
  }
  writer.member("type", type_name(type));
  if (type == MemberType::kInteger) writer.member("format", "int64");
  if (!member.choices.empty()) writer.texts("enum", base::split_names(member.choices));
  if (member.elements != nullptr) {
    writer.name("items");
    write_reference("schemas", member.elements->name, writer);
  } else if (type == MemberType::kTexts || type == MemberType::kIntegers) {
    writer.name("items").begin_object();
    write_type({.type = type == MemberType::kTexts ? MemberType::kText : MemberType::kInteger}, writer);
    writer.end_object();
  }
}

void write_schema(const Schema& schema, JsonWriter& writer) {
  writer.name(schema.name).begin_object().member("type", "object");
  writer.name("properties").begin_object();
  for (const MemberSpec& member : schema.members) {
    writer.name(member.name).begin_object();
    write_type(member, writer);
    writer.member("description", member.summary).end_object();
  }
  writer.end_object().name("required").begin_array();
  for (const MemberSpec& member : schema.members) {
    if (member.is_required) writer.string(member.name);
  }
  writer.end_array();
  // Answers may get more members one day; requests must not have any that the server does not know.
  if (is_request(schema)) writer.member("additionalProperties", false);
  writer.end_object();
}

void write_parameter(const QuerySpec& parameter, std::string_view place, JsonWriter& writer) {
  writer.begin_object().member("name", parameter.name).member("in", place);
  writer.member("required", parameter.is_required).member("description", parameter.summary);
  writer.name("schema").begin_object();
  write_type({.type = parameter.type}, writer);
  writer.end_object().end_object();
}

void write_path_parameters(std::string_view path, JsonWriter& writer) {
  for (std::size_t open = path.find('{'); open != std::string_view::npos; open = path.find('{', open + 1)) {
    const std::string_view name = path.substr(open + 1, path.find('}', open) - open - 1);
    write_parameter({name, MemberType::kText, true, "In UTF-8, escaped as %XX where it must be; not empty."}, "path",
                    writer);
  }
}

void write_header(const HeaderSpec& header, JsonWriter& writer) {
  writer.name(header.name).begin_object().member("description", header.summary);
  writer.name("schema").begin_object().member("type", header.type).end_object().end_object();
}

void write_content(std::string_view content_type, const Schema* schema, JsonWriter& writer) {
  writer.name("content").begin_object().name(content_type).begin_object();
  if (schema != nullptr) {
    writer.name("schema");
    write_reference("schemas", schema->name, writer);
  }
  writer.end_object().end_object();
}

// An array whose elements are of one of the schemas.
void write_list_content(std::span<const Schema* const> schemas, JsonWriter& writer) {
  writer.name("content").begin_object().name(kJsonContentType).begin_object().name("schema").begin_object();
  writer.member("type", "array").member("maxItems", std::int64_t{kTakesMax}).name("items").begin_object();
  writer.name("anyOf").begin_array();
  for (const Schema* schema : schemas) write_reference("schemas", schema->name, writer);
  writer.end_array().end_object().end_object().end_object().end_object();
}

void write_decision_headers(bool is_denial, JsonWriter& writer) {
  writer.name("headers").begin_object();
  for (const HeaderSpec& header : kDecisionHeaders) {
    if (header.is_of_denials && !is_denial) continue;
    writer.name(header.name);
    write_reference("headers", header.name, writer);
  }
  writer.end_object();
}

void write_response(const Route& route, int status, JsonWriter& writer) {
  const bool is_success = status < 300;
  const bool is_denial = status == 429;
  writer.name(std::to_string(status)).begin_object();
  if (!is_success && !is_denial) writer.member("$ref", "#/components/responses/Problem");
  writer.member("description", wire::reason_phrase(status));
  if (is_decision(route) && (is_success || is_denial)) write_decision_headers(is_denial, writer);
  if (is_success && route.is_list) {
    write_list_content(std::array{route.answer, &schema::kProblem}, writer);
  } else if (is_success && !route.content_type.empty()) {
    write_content(route.content_type, route.answer, writer);
  }
  if (is_denial && !route.content_type.empty()) write_content(kProblemContentType, &schema::kDenial, writer);
  writer.end_object();
}

std::vector<int> statuses_of(const Route& route) {
  std::vector<int> statuses = {route.status, 400, 503};
  if (route.access != Access::kAnyone) {
    statuses.push_back(401);
    statuses.push_back(421);
  }
  if (route.access == Access::kAdmin || route.access == Access::kUse) statuses.push_back(403);
  for (const int status : route.others) {
    if (status != 0) statuses.push_back(status);
  }
  std::sort(statuses.begin(), statuses.end());
  return statuses;
}

void write_operation(const Route& route, JsonWriter& writer) {
  // Of any method the one that is meant for questions stands for all.
  std::string method(route.method == "*" ? "GET" : route.method);
  std::transform(method.begin(), method.end(), method.begin(),
                 [](char letter) { return static_cast<char>(letter | 32); });
  writer.name(method).begin_object().member("operationId", route.name).member("summary", route.summary);
  writer.name("security").begin_array();
  // An empty requirement beside the token: where no password is set, none is asked for.
  if (route.access != Access::kAnyone) {
    writer.begin_object().name("token").begin_array().end_array().end_object().begin_object().end_object();
  }
  writer.end_array().name("parameters").begin_array();
  write_path_parameters(route.path, writer);
  for (const QuerySpec& parameter : route.query) write_parameter(parameter, "query", writer);
  writer.end_array();
  if (route.body != nullptr) {
    writer.name("requestBody").begin_object().member("required", route.needs_body);
    if (route.is_list) {
      write_list_content(std::array{route.body}, writer);
    } else {
      write_content(kJsonContentType, route.body, writer);
    }
    writer.end_object();
  }
  writer.name("responses").begin_object();
  for (const int status : statuses_of(route)) write_response(route, status, writer);
  writer.end_object().end_object();
}

// A path's routes stand together in the document, wherever they are in the table.
void write_paths(JsonWriter& writer) {
  writer.name("paths").begin_object();
  const auto routes = http_routes();
  for (const Route& first : routes) {
    const auto same_path = [&](const Route& other) { return other.path == first.path; };
    if (&*std::find_if(routes.begin(), routes.end(), same_path) != &first) continue;
    writer.name(first.path).begin_object();
    for (const Route& route : routes) {
      if (same_path(route)) write_operation(route, writer);
    }
    writer.end_object();
  }
  writer.end_object();
}

void write_components(JsonWriter& writer) {
  writer.name("components").begin_object().name("schemas").begin_object();
  for (const Schema* schema : schema::kAll) write_schema(*schema, writer);
  writer.end_object().name("headers").begin_object();
  for (const HeaderSpec& header : kDecisionHeaders) write_header(header, writer);
  writer.end_object().name("responses").begin_object().name("Problem").begin_object();
  writer.member("description", "What is wrong, and what would be right.");
  write_content(kProblemContentType, &schema::kProblem, writer);
  writer.end_object().end_object().name("securitySchemes").begin_object().name("token").begin_object();
  writer.member("type", "http").member("scheme", "bearer");
  writer.member("description", "The server's password, where one is set.");
  writer.end_object().end_object().end_object();
}

std::string make_document() {
  std::string text;
  JsonWriter writer(text, JsonWriter::Layout::kIndented);
  writer.begin_object().member("openapi", "3.1.0").name("info").begin_object().member("title", "Mete");
  writer.member("version", METE_VERSION);
  writer.member("description", "Rate limits, quotas and reservations: may this happen, and what is left?");
  writer.name("license").begin_object().member("name", "Apache 2.0").member("identifier", "Apache-2.0");
  writer.end_object().end_object();
  write_paths(writer);
  write_components(writer);
  writer.end_object();
  return text += '\n';
}

}  // namespace

const std::string& openapi_document() {
  static const std::string kDocument = make_document();
  return kDocument;
}

}  // namespace mete::server
