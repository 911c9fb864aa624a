#include "server/doors/http/fields_and_answers.h"

#include <array>

#include "base/check.h"
#include "base/errors.h"
#include "wire/answers.h"
#include "wire/text.h"

namespace mete::server {

namespace {

template <class T>
const T* field(const wire::JsonValue& body, std::string_view name) {
  const wire::JsonValue* value = find_member(body, name);
  return value == nullptr ? nullptr : value->as<T>();
}

struct ErrorStatus {
  ErrorCode code;
  int status;
};
// The rest is bad input.
constexpr std::array kStatuses = {
    ErrorStatus{ErrorCode::kNoLimit, 404},     ErrorStatus{ErrorCode::kNoHold, 404},
    ErrorStatus{ErrorCode::kMismatch, 409},    ErrorStatus{ErrorCode::kExpired, 410},
    ErrorStatus{ErrorCode::kExceeds, 422},     ErrorStatus{ErrorCode::kOutOfMemory, 503},
    ErrorStatus{ErrorCode::kUnavailable, 503},
};

int status_of(ErrorCode code) {
  for (const ErrorStatus& row : kStatuses) {
    if (row.code == code) return row.status;
  }
  return 400;
}

}  // namespace

const std::string* HttpCall::find_query(std::string_view name) const {
  for (const wire::QueryParameter& parameter : query) {
    if (parameter.name == name) return &parameter.value;
  }
  return nullptr;
}

std::string_view text_field(const wire::JsonValue& body, std::string_view name, std::string_view otherwise) {
  const auto* text = field<std::string>(body, name);
  return text == nullptr ? otherwise : *text;
}

std::int64_t integer_field(const wire::JsonValue& body, std::string_view name, std::int64_t otherwise) {
  const auto* integer = field<std::int64_t>(body, name);
  return integer == nullptr ? otherwise : *integer;
}

bool boolean_field(const wire::JsonValue& body, std::string_view name, bool otherwise) {
  const auto* boolean = field<bool>(body, name);
  return boolean == nullptr ? otherwise : *boolean;
}

Result<Duration> duration_field(const wire::JsonValue& body, std::string_view name) {
  const auto* seconds = field<std::int64_t>(body, name);
  auto duration = wire::parse_duration(seconds == nullptr ? text_field(body, name) : std::to_string(*seconds));
  if (!duration) duration.error().message.insert(0, std::string(name) + ": ");
  return duration;
}

std::vector<Charge> charges_field(const wire::JsonValue& body) {
  std::vector<Charge> charges;
  const auto* list = field<wire::JsonArray>(body, "charges");
  CHECK(list != nullptr);
  charges.reserve(list->size());
  for (const wire::JsonValue& charge : *list) {
    charges.push_back({text_field(charge, "limit"), text_field(charge, "key"), integer_field(charge, "cost", 1)});
  }
  return charges;
}

Result<std::string_view> id_field(const wire::JsonValue& body) {
  const auto* id = field<std::string>(body, "id");
  if (id == nullptr) return std::string_view();
  if (!id->empty()) return std::string_view(*id);
  return base::invalid("id must not be empty: leave it out");
}

namespace {

void put_problem(int status, std::string_view detail, std::string_view code, wire::JsonWriter& writer) {
  // "about:blank" says that the status tells the kind of problem; its title is then the status's.
  writer.begin_object().member("type", "about:blank").member("title", wire::reason_phrase(status));
  writer.member("status", std::int64_t{status}).member("detail", detail).member("code", code).end_object();
}

}  // namespace

void write_problem(const Error& error, wire::JsonWriter& writer) {
  put_problem(status_of(error.code), error.message, to_string(error.code), writer);
}

wire::HttpResponse problem(int status, std::string_view detail, std::string_view code) {
  wire::HttpResponse response{.status = status, .content_type = kProblemContentType};
  wire::JsonWriter writer(response.body);
  put_problem(status, detail, code, writer);
  // Both may be over in a moment; a client that asks again at once does not help.
  if (status == 503) response.add_header("Retry-After", 1);
  return response;
}

wire::HttpResponse problem(const Error& error) {
  return problem(status_of(error.code), error.message, to_string(error.code));
}

Result<wire::HttpResponse> list_answer(std::string_view name, const Result<std::vector<std::string>>& texts) {
  if (!texts) return texts.error();
  return json_answer([&](wire::JsonWriter& writer) { writer.texts(name, *texts); });
}

Result<wire::HttpResponse> settlement_answer(const Result<Settlement>& settlement, std::string_view amount_name) {
  if (!settlement) return settlement.error();
  return json_answer([&](wire::JsonWriter& writer) { wire::write_members(writer, *settlement, amount_name, ""); });
}

}  // namespace mete::server
