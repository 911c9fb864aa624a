// Holds.
#include "base/errors.h"
#include "base/try.h"
#include "server/doors/http/decision.h"
#include "server/doors/http/fields_and_answers.h"
#include "server/doors/http/handlers.h"
#include "wire/answers.h"
#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::int64_t kHoldsListedMax = 1000;

Result<std::vector<std::string>> find_holds(HttpCall& call) {
  const std::string* limit = call.find_query("limit");
  const std::string* key = call.find_query("key");
  const std::string* tag = call.find_query("tag");
  const std::string* count_text = call.find_query("count");
  if (tag != nullptr) {
    if (limit != nullptr || key != nullptr || count_text != nullptr) return base::invalid("query: tag stands alone");
    if (tag->empty()) return base::invalid("query: tag must not be empty");
    return call.store.holds_tagged(*tag);
  }
  if (limit == nullptr || key == nullptr) return base::invalid("query: either limit and key, or tag, must be there");
  const auto count = count_text == nullptr ? kHoldsListedMax : wire::parse_integer(*count_text).value_or(0);
  if (count < 1 || count > kHoldsListedMax) {
    return base::invalid("query: count must be 1 to " + std::to_string(kHoldsListedMax) + ", not " +
                         wire::quote(*count_text));
  }
  return call.store.holds({*limit, *key}, static_cast<std::size_t>(count));
}

}  // namespace

Result<wire::HttpResponse> handle_hold(HttpCall& call) {
  const auto ttl = TRY(duration_field(call.body, "ttl"));
  const auto given_id = TRY(id_field(call.body));
  const bool is_id_random = given_id.empty();
  const auto charges = charges_field(call.body);
  const std::string id = is_id_random ? call.store.store().new_hold_id(charges) : std::string(given_id);
  ChargeUsages usages;
  core::Hold request = {
      .charges = charges, .ttl = ttl, .id = id, .is_id_random = is_id_random, .tag = text_field(call.body, "tag")};
  // The verdict has the standing of a single charge, and a store elsewhere has a shorter way to it.
  if (charges.size() > 1) request.usages = std::span(usages).first(charges.size());
  const auto verdict = TRY(call.store.hold(request));
  call.observer.on_decision(charges, verdict.is_allowed, verdict.violated);
  const HttpDecision decision = {.verdict = verdict, .charges = charges, .usages = request.usages};
  auto response = verdict.is_allowed ? json_answer(
                                           [&](wire::JsonWriter& writer) {
                                             writer.member("id", id);
                                             write_decision(decision, writer);
                                           },
                                           201)
                                     : denial(decision);
  if (verdict.is_allowed) response.add_header("Location", "/v1/holds/" + wire::percent_encode(id));
  add_decision_headers(call.store, decision, response);
  return response;
}

Result<wire::HttpResponse> handle_get_hold(HttpCall& call) {
  const auto found = TRY(call.store.find_hold(call.parameters[0]));
  if (!found) {
    return problem(404, "no hold " + wire::quote(call.parameters[0]) + ": it is unknown, or was forgotten", "NOHOLD");
  }
  return json_answer([&](wire::JsonWriter& writer) { wire::write_members(writer.member("id", found->id), *found); });
}

Result<wire::HttpResponse> handle_list_holds(HttpCall& call) { return list_answer("holds", find_holds(call)); }

Result<wire::HttpResponse> handle_commit(HttpCall& call) {
  std::vector<Amount> amounts;
  const wire::JsonValue* list = find_member(call.body, "amounts");
  if (list != nullptr) {
    for (const wire::JsonValue& amount : *list->as<wire::JsonArray>()) amounts.push_back(*amount.as<std::int64_t>());
    // To the store, no amounts mean all.
    if (amounts.empty())
      return base::invalid("amounts must have one per charge: leave it out to commit all that is held");
  }
  const core::Commit request = {call.parameters[0], amounts, boolean_field(call.body, "overage", false)};
  return settlement_answer(call.store.commit(request), "committed");
}

Result<wire::HttpResponse> handle_cancel(HttpCall& call) {
  return settlement_answer(call.store.cancel(call.parameters[0]), "returned");
}

Result<wire::HttpResponse> handle_extend(HttpCall& call) {
  const auto ttl = TRY(duration_field(call.body, "ttl"));
  const auto expires_in = TRY(call.store.extend(call.parameters[0], ttl));
  return json_answer([&](wire::JsonWriter& writer) { writer.member("expires_in_ms", expires_in.ms()); });
}

}  // namespace mete::server
