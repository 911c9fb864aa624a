// take, takes, check and give.
#include <algorithm>
#include <array>

#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "core/validate.h"
#include "server/decisions/take_list.h"
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

// Takes by force and gives are a choice of whoever runs the server.
bool may_take(const HttpCall& call, Mode mode) {
  const Doorkeeper* const doorkeeper = call.hooks.doorkeeper;
  return mode != Mode::kForce || doorkeeper == nullptr || doorkeeper->may_force(call.role);
}
wire::HttpResponse refuse_force() {
  return problem(403, "the token may not take by force: see server.use_without_force", "NOPERM");
}

void write_answer(const ListedTake& take, wire::JsonWriter& writer) {
  if (!take.answer.has_value()) return write_problem(take.answer.error(), writer);
  writer.begin_object();
  write_decision({*take.answer, take.take.charges, take.take.mode == Mode::kUpTo}, writer);
  writer.end_object();
}

// The answer comes when the take fits, or when the time is over. Whoever asks again by an id has no need to wait, and
// what is wrong is told at once.
Result<wire::HttpResponse> take_waiting(HttpCall& call, const core::Take& request) {
  const Duration patience = TRY(duration_field(call.body, "wait"));
  if (request.mode == Mode::kPeek) return base::invalid("wait: a peek does not wait: leave it out");
  if (patience > Duration()) {
    const auto known = TRY(call.store.recall(request));
    if (known) return take_answer(call.store, call.observer, request, *known);
    std::ignore = TRY(call.store.take({request.charges, Mode::kPeek, {}}));
    (*call.wait)(request, patience);
    return wire::HttpResponse{};  // never sent: there will be another one
  }
  const auto verdict = TRY(call.store.take(request));
  return take_answer(call.store, call.observer, request, verdict);
}

}  // namespace

Result<wire::HttpResponse> handle_take(HttpCall& call) {
  const auto id = TRY(id_field(call.body));
  const auto charges = charges_field(call.body);
  ChargeUsages usages;
  core::Take request = {charges, mode_of(call.body), id};
  if (!may_take(call, request.mode)) return refuse_force();
  if (charges.size() > 1) request.usages = std::span(usages).first(charges.size());
  if (call.wait != nullptr && find_member(call.body, "wait") != nullptr) return take_waiting(call, request);
  const auto verdict = TRY(call.store.take(request));
  return take_answer(call.store, call.observer, request, verdict);
}

Result<wire::HttpResponse> handle_takes(HttpCall& call) {
  const auto& bodies = *call.body.as<wire::JsonArray>();
  TRY(core::validate_takes_count(bodies.size()));
  std::vector<std::vector<Charge>> charges;
  std::vector<ListedTake> takes;
  charges.reserve(bodies.size());
  takes.reserve(bodies.size());
  for (const wire::JsonValue& body : bodies) {
    ListedTake& listed = takes.emplace_back();
    listed.take = {.charges = charges.emplace_back(charges_field(body)), .mode = mode_of(body)};
    if (!may_take(call, listed.take.mode)) return refuse_force();
    auto id = id_field(body);
    if (id.has_value()) {
      listed.take.id = *id;
    } else {
      listed.answer = std::move(id).error();
    }
  }
  take_all(call.store, takes);
  for (const ListedTake& each : takes) {
    if (each.answer.has_value()) observe(call, each.take, *each.answer);
  }
  wire::HttpResponse response{.status = 200, .content_type = kJsonContentType};
  wire::JsonWriter writer(response.body);
  writer.begin_array();
  for (const ListedTake& each : takes) write_answer(each, writer);
  writer.end_array();
  return response;
}

namespace {

// What a proxy's question says of one charge.
struct Asked {
  const std::string* limit = nullptr;
  const std::string* key = nullptr;
  const std::string* cost = nullptr;
  bool has_cost_before_key = false;

  // raw_key is a key too.
  const std::string*& member(std::string_view name) { return name == "limit" ? limit : name == "cost" ? cost : key; }
};

// A parameter that is there already begins the next group: limit=a&key=x&limit=b&key=y. Where the first group says its
// cost before its key, a proxy writes the key last, and all groups do so: what somebody has written into a key without
// knowing of that is no group.
Result<std::vector<Asked>> groups_of(std::span<const wire::QueryParameter> query) {
  std::vector<Asked> groups(1);
  for (const wire::QueryParameter& parameter : query) {
    if (groups.back().member(parameter.name) != nullptr) groups.emplace_back();
    Asked& asked = groups.back();
    asked.member(parameter.name) = &parameter.value;
    if (parameter.name == "cost") asked.has_cost_before_key = asked.key == nullptr;
  }
  const auto lacks_cost = [](const Asked& each) { return !each.has_cost_before_key; };
  if (groups[0].key != nullptr && !lacks_cost(groups[0]) && std::any_of(groups.begin(), groups.end(), lacks_cost)) {
    return base::invalid("query: where the first cost stands before its key, every limit has a cost before its key");
  }
  return groups;
}

// The headers' values, which fill in what the query has left out. Where the query has a key none of them counts: a
// proxy that says it all in the query may pass on the headers of its clients.
Result<std::array<std::string, 3>> read_check_headers(const wire::HttpRequest& request) {
  constexpr std::array<std::string_view, 3> kHeaders = {"Mete-Limit", "Mete-Key", "Mete-Cost"};
  std::array<std::string, 3> values;
  for (const wire::HttpHeader& header : request.headers) {
    for (std::size_t i = 0; i < kHeaders.size(); ++i) {
      if (!wire::equals_ignoring_case(header.name, kHeaders[i])) continue;
      if (!values[i].empty()) return base::invalid(std::string(kHeaders[i]) + " is there twice");
      values[i] = header.value;
    }
  }
  return values;
}

Result<Charge> charge_of(const Asked& asked) {
  if (asked.limit == nullptr) return base::invalid("limit is missing, in the query or as Mete-Limit");
  if (asked.key == nullptr) return base::invalid("key is missing, in the query or as Mete-Key");
  const auto cost = asked.cost == nullptr ? std::optional<std::int64_t>(1) : wire::parse_integer(*asked.cost);
  // A cost of 0 would pass whoever can write it behind a key.
  if (!cost || *cost < 1) return base::invalid("cost must be an integer from 1, not " + wire::quote(*asked.cost));
  return Charge{*asked.limit, *asked.key, *cost};
}

}  // namespace

// For proxies that ask with a request of their own whether to let another one pass: status and headers say it all.
Result<wire::HttpResponse> handle_check(HttpCall& call) {
  std::vector<Asked> groups = TRY(groups_of(call.query));
  const auto headers = TRY(read_check_headers(call.request));
  const auto fill = [](const std::string*& member, const std::string& value) {
    if (member == nullptr && !value.empty()) member = &value;
  };
  const bool has_key = std::any_of(groups.begin(), groups.end(), [](const Asked& each) { return each.key != nullptr; });
  for (Asked& asked : has_key ? std::span<Asked>() : std::span<Asked>(groups)) {
    fill(asked.limit, headers[0]);
    fill(asked.key, headers[1]);
    fill(asked.cost, headers[2]);
  }
  std::vector<Charge> charges;
  charges.reserve(groups.size());
  for (const Asked& asked : groups) charges.push_back(TRY(charge_of(asked)));
  ChargeUsages usages;
  core::Take request = {charges};
  if (charges.size() > kChargesMax) {
    return base::invalid("query: at most " + std::to_string(kChargesMax) + " limits");
  }
  if (charges.size() > 1) request.usages = std::span(usages).first(charges.size());
  const auto verdict = TRY(call.store.take(request));
  observe(call, request, verdict);
  wire::HttpResponse response{.status = verdict.is_allowed ? 200 : 429};
  add_decision_headers(call.store, {verdict, charges, false, request.usages}, response);
  return response;
}

Result<wire::HttpResponse> handle_give(HttpCall& call) {
  const Doorkeeper* const doorkeeper = call.hooks.doorkeeper;
  if (doorkeeper != nullptr && !doorkeeper->may_give(call.role)) {
    return problem(403, "the token may not give back: see server.use_without_give", "NOPERM");
  }
  const auto id = TRY(id_field(call.body));
  return settlement_answer(call.store.give(charges_field(call.body), id), "returned");
}

}  // namespace mete::server
