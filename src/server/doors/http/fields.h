// Reading the fields of a checked request, and writing answers: what several handlers need.
#pragma once

#include <mete/decision.h>

#include <string_view>
#include <vector>

#include "server/doors/http/route.h"

namespace mete::server {

// `body` is an object of a schema that has the field, if it has it at all; so its type is right.
std::string_view text_field(const wire::JsonValue& body, std::string_view name, std::string_view otherwise = {});
std::int64_t integer_field(const wire::JsonValue& body, std::string_view name, std::int64_t otherwise = 0);
bool boolean_field(const wire::JsonValue& body, std::string_view name, bool otherwise);
// The field "ttl".
Result<Duration> ttl_field(const wire::JsonValue& body);
// The field "charges": views into the body.
std::vector<Charge> charges_field(const wire::JsonValue& body);
// An id that is there must not be empty: to the store that would be none.
Result<std::string_view> id_field(const wire::JsonValue& body);

// Status 200, or another, and an object whose members `write` writes.
template <class Write>
wire::HttpResponse json_answer(Write write, int status = 200) {
  wire::HttpResponse response{.status = status, .content_type = "application/json"};
  wire::JsonWriter writer(response.body);
  writer.begin_object();
  write(writer);
  writer.end_object();
  return response;
}

// The answer to give, commit and cancel: `amount_name` is what its amount is called.
Result<wire::HttpResponse> settlement_answer(const Result<Settlement>& settlement, std::string_view amount_name);

}  // namespace mete::server
