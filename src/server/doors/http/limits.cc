// Limits, overrides, meters, and syncs with a source of truth.
#include "base/errors.h"
#include "base/try.h"
#include "server/doors/http/fields_and_answers.h"
#include "server/doors/http/handlers.h"
#include "server/limits/limit_fields.h"
#include "store/store.h"
#include "sync/fields.h"
#include "sync/worker.h"
#include "wire/answers.h"
#include "wire/text.h"

namespace mete::server {

namespace {

wire::HttpResponse no_limit(std::string_view name) {
  return problem(404, "unknown limit " + wire::quote(name), to_string(ErrorCode::kNoLimit));
}

wire::HttpResponse limit_answer(store::Store& store, const Limit& limit, int status) {
  return json_answer([&](wire::JsonWriter& writer) { writer.members(tell_limit(store, limit)); }, status);
}

// The schema allows only the types that a Scalar has.
wire::NamedValues values_of(const wire::JsonObject& body) {
  wire::NamedValues values;
  for (const wire::JsonMember& member : body) {
    if (member.name == "name" || member.name == "outstanding") continue;  // What is read can be sent back.
    if (const auto* integer = member.value.as<std::int64_t>()) {
      values.push_back({member.name, *integer});
    } else if (const auto* boolean = member.value.as<bool>()) {
      values.push_back({member.name, *boolean});
    } else if (const auto* text = member.value.as<std::string>()) {
      values.push_back({member.name, *text});
    }
  }
  return values;
}

}  // namespace

Result<wire::HttpResponse> handle_list_limits(HttpCall& call) { return list_answer("limits", call.store.limits()); }

Result<wire::HttpResponse> handle_get_limit(HttpCall& call) {
  const auto limit = TRY(call.store.limit(call.parameters[0]));
  return limit ? limit_answer(call.store.store(), *limit, 200) : no_limit(call.parameters[0]);
}

Result<wire::HttpResponse> handle_put_limit(HttpCall& call) {
  const std::string& name = call.parameters[0];
  if (text_field(call.body, "name", name) != name) {
    return base::invalid("name must be as in the path, or absent");
  }
  const auto limit = TRY(make_limit(name, values_of(*call.body.as<wire::JsonObject>())));
  const auto before = TRY(call.store.limit(name));
  TRY(store::check_scope(call.store.store(), limit));
  TRY(call.store.define(limit));
  return limit_answer(call.store.store(), limit, before ? 200 : 201);
}

Result<wire::HttpResponse> handle_delete_limit(HttpCall& call) {
  const auto dropped = TRY(call.store.drop(call.parameters[0]));
  return dropped ? wire::HttpResponse{.status = 204} : no_limit(call.parameters[0]);
}

Result<wire::HttpResponse> handle_put_override(HttpCall& call) {
  const Amount amount = integer_field(call.body, "amount");
  TRY(call.store.set_override({call.parameters[0], call.parameters[1]}, amount));
  return json_answer([&](wire::JsonWriter& writer) { writer.member("amount", amount); });
}

Result<wire::HttpResponse> handle_delete_override(HttpCall& call) {
  TRY(call.store.set_override({call.parameters[0], call.parameters[1]}, std::nullopt));
  return wire::HttpResponse{.status = 204};
}

Result<wire::HttpResponse> handle_get_meter(HttpCall& call) {
  const auto usage = TRY(call.store.usage({call.parameters[0], call.parameters[1]}));
  return json_answer([&](wire::JsonWriter& writer) { wire::write_members(writer, usage); });
}

Result<wire::HttpResponse> handle_put_meter(HttpCall& call) {
  const auto change =
      TRY(call.store.reconcile({call.parameters[0], call.parameters[1]}, integer_field(call.body, "used")));
  return json_answer([&](wire::JsonWriter& writer) { wire::write_members(writer, change); });
}

// A run may take minutes: it is started here, and looked up later.
Result<wire::HttpResponse> handle_start_sync(HttpCall& call) {
  const sync::RunOptions options{.is_dry_run = boolean_field(call.body, "dry_run", false),
                                 .is_forced = boolean_field(call.body, "force", false)};
  const auto number = TRY(call.hooks.syncs->start(call.parameters[0], options));
  auto answer =
      json_answer([&](wire::JsonWriter& writer) { writer.member("run", static_cast<std::int64_t>(number)); }, 202);
  answer.add_header("Location", "/v1/syncs");
  return answer;
}

Result<wire::HttpResponse> handle_list_syncs(HttpCall& call) {
  return json_answer([&](wire::JsonWriter& writer) {
    wire::write_list(writer, "syncs", call.hooks.syncs->plans());
    writer.name("runs").begin_array();
    for (const sync::RunRecord& record : call.hooks.syncs->runs()) {
      wire::write_members(writer.begin_object(), record);
      wire::write_list(writer, "differences", record.report.largest);
      writer.end_object();
    }
    writer.end_array();
  });
}

}  // namespace mete::server
