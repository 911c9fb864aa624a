// take, check and give.
#include <array>

#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "server/doors/http/decision.h"
#include "server/doors/http/fields_and_answers.h"
#include "server/doors/http/handlers.h"
#include "server/doors/http/schemas.h"
#include "wire/text.h"

namespace mete::server {

namespace {

// A peek decides nothing.
void observe(const HttpCall& call, const core::Take& request, const core::Verdict& verdict) {
  if (request.mode != Mode::kPeek) {
    call.observer.on_decision(request.charges, verdict.is_allowed, verdict.violated);
  }
}

}  // namespace

Result<wire::HttpResponse> handle_take(HttpCall& call) {
  const auto id = TRY(id_field(call.body));
  const auto charges = charges_field(call.body);
  ChargeUsages usages;
  const Mode mode = base::named<Mode>(schema::kModes, text_field(call.body, "mode")).value_or(Mode::kTake);
  core::Take request = {charges, mode, id};
  if (charges.size() > 1) request.usages = std::span(usages).first(charges.size());
  const auto verdict = TRY(call.store.take(request));
  observe(call, request, verdict);
  const HttpDecision decision = {verdict, charges, request.mode == Mode::kUpTo, request.usages};
  auto response = verdict.is_allowed ? json_answer([&](wire::JsonWriter& writer) { write_decision(decision, writer); })
                                     : denial(decision);
  add_decision_headers(call, decision, response);
  return response;
}

// For proxies that ask with a request of their own whether to let another one pass: status and headers say it all.
Result<wire::HttpResponse> handle_check(HttpCall& call) {
  const std::string* cost_text = call.find_query("cost");
  const auto cost = cost_text == nullptr ? std::optional<std::int64_t>(1) : wire::parse_integer(*cost_text);
  if (!cost) {
    return base::invalid("cost must be an integer, not " + wire::quote(*cost_text));
  }
  const std::array charges = {Charge{*call.find_query("limit"), *call.find_query("key"), *cost}};
  const core::Take request = {charges};
  const auto verdict = TRY(call.store.take(request));
  observe(call, request, verdict);
  wire::HttpResponse response{.status = verdict.is_allowed ? 200 : 429};
  add_decision_headers(call, {verdict, charges}, response);
  return response;
}

Result<wire::HttpResponse> handle_give(HttpCall& call) {
  const auto id = TRY(id_field(call.body));
  return settlement_answer(call.store.give(charges_field(call.body), id), "returned");
}

}  // namespace mete::server
