// take, takes, check and give.
#include <array>

#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "core/validate.h"
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

Mode mode_of(const wire::JsonValue& body) {
  return base::named<Mode>(schema::kModes, text_field(body, "mode")).value_or(Mode::kTake);
}

// One of a list of takes, and its answer.
struct ListedTake {
  explicit ListedTake(const wire::JsonValue& body) : charges(charges_field(body)), mode(mode_of(body)) {
    if (auto found = id_field(body); found.has_value()) {
      id = *found;
    } else {
      answer = std::move(found).error();
    }
  }

  // It can share its way to the store with others.
  [[nodiscard]] bool is_plain() const {
    return answer.has_value() && charges.size() == 1 && mode == Mode::kTake && id.empty();
  }
  void write_answer(wire::JsonWriter& writer) const {
    if (!answer.has_value()) return write_problem(answer.error(), writer);
    writer.begin_object();
    write_decision({*answer, charges, mode == Mode::kUpTo}, writer);
    writer.end_object();
  }

  std::vector<Charge> charges;
  Mode mode;
  std::string_view id;
  Result<core::Verdict> answer;
};

// Carries out the first of them, and those that can go with it; tells how many these were.
std::size_t take_next(HttpCall& call, std::span<ListedTake> takes) {
  std::size_t count = 0;
  while (count < takes.size() && takes[count].is_plain()) ++count;
  if (count > 0) {
    std::vector<Charge> charges;
    for (const ListedTake& take : takes.first(count)) charges.push_back(take.charges[0]);
    std::vector<Result<core::Verdict>> answers(count);
    call.store.take_each(charges, answers);
    for (std::size_t i = 0; i < count; ++i) takes[i].answer = std::move(answers[i]);
  } else {
    count = 1;
    if (takes[0].answer.has_value()) {
      takes[0].answer = call.store.take({takes[0].charges, takes[0].mode, takes[0].id});
    }
  }
  for (const ListedTake& take : takes.first(count)) {
    if (take.answer.has_value()) observe(call, {take.charges, take.mode}, *take.answer);
  }
  return count;
}

}  // namespace

Result<wire::HttpResponse> handle_take(HttpCall& call) {
  const auto id = TRY(id_field(call.body));
  const auto charges = charges_field(call.body);
  ChargeUsages usages;
  core::Take request = {charges, mode_of(call.body), id};
  if (charges.size() > 1) request.usages = std::span(usages).first(charges.size());
  const auto verdict = TRY(call.store.take(request));
  observe(call, request, verdict);
  const HttpDecision decision = {verdict, charges, request.mode == Mode::kUpTo, request.usages};
  auto response = verdict.is_allowed ? json_answer([&](wire::JsonWriter& writer) { write_decision(decision, writer); })
                                     : denial(decision);
  add_decision_headers(call, decision, response);
  return response;
}

Result<wire::HttpResponse> handle_takes(HttpCall& call) {
  const auto& bodies = *call.body.as<wire::JsonArray>();
  TRY(core::validate_takes_count(bodies.size()));
  std::vector<ListedTake> takes;
  takes.reserve(bodies.size());
  for (const wire::JsonValue& body : bodies) takes.emplace_back(body);
  for (std::size_t first = 0; first < takes.size();) first += take_next(call, std::span(takes).subspan(first));
  wire::HttpResponse response{.status = 200, .content_type = kJsonContentType};
  wire::JsonWriter writer(response.body);
  writer.begin_array();
  for (const ListedTake& take : takes) take.write_answer(writer);
  writer.end_array();
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
