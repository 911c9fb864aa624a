// What several handlers need: the fields of a checked request, and answers.
//
// An answer is JSON, or a problem of type application/problem+json (RFC 9457): what is wrong, for programs and for
// people.
#pragma once

#include <mete/decision.h>

#include <string_view>
#include <vector>

#include "server/doors/http/route.h"
#include "wire/http_response.h"
#include "wire/json.h"

namespace mete::server {

// `body` is an object of a schema that has the field, if it has it at all; so its type is right.
std::string_view text_field(const wire::JsonValue& body, std::string_view name, std::string_view otherwise = {});
std::int64_t integer_field(const wire::JsonValue& body, std::string_view name, std::int64_t otherwise = 0);
bool boolean_field(const wire::JsonValue& body, std::string_view name, bool otherwise);
// The field "ttl".
Result<Duration> duration_field(const wire::JsonValue& body, std::string_view name);
// The field "charges": views into the body.
std::vector<Charge> charges_field(const wire::JsonValue& body);
// An id that is there must not be empty: to the store that would be none.
Result<std::string_view> id_field(const wire::JsonValue& body);

inline constexpr std::string_view kProblemContentType = "application/problem+json";
inline constexpr std::string_view kJsonContentType = "application/json";

// `code` as RESP has it in front of its errors.
wire::HttpResponse problem(int status, std::string_view detail, std::string_view code = "ERR");
wire::HttpResponse problem(const Error& error);
// The same as an object of an answer that has others beside it.
void write_problem(const Error& error, wire::JsonWriter& writer);

// Status 200, or another, and an object whose members `write` writes.
template <class Write>
wire::HttpResponse json_answer(Write write, int status = 200) {
  wire::HttpResponse response{.status = status, .content_type = kJsonContentType};
  wire::JsonWriter writer(response.body);
  writer.begin_object();
  write(writer);
  writer.end_object();
  return response;
}

// An object with a list of texts as its only member.
Result<wire::HttpResponse> list_answer(std::string_view name, const Result<std::vector<std::string>>& texts);
// The answer to give, commit and cancel: `amount_name` is what its amount is called.
Result<wire::HttpResponse> settlement_answer(const Result<Settlement>& settlement, std::string_view amount_name);

}  // namespace mete::server
