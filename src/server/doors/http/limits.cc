// Limits, overrides, meters, and syncs with a source of truth.
#include "base/errors.h"
#include "server/doors/http/fields_and_answers.h"
#include "server/doors/http/handlers.h"
#include "server/limits/limit_fields.h"
#include "server/limits/sync_description.h"
#include "store/store.h"
#include "sync/worker.h"
#include "wire/text.h"

namespace mete::server {

namespace {

wire::HttpResponse no_limit(std::string_view name) {
  return problem(404, "unknown limit " + wire::quote(name), to_string(ErrorCode::kNoLimit));
}

wire::HttpResponse limit_answer(store::Store& store, const Limit& limit, int status) {
  const auto outstanding = store.outstanding(limit.name());
  return json_answer(
      [&](wire::JsonWriter& writer) {
        writer.member("name", limit.name());
        write_fields(describe_limit(limit), writer);
        if (outstanding && *outstanding) writer.member("outstanding", **outstanding);
      },
      status);
}

// The schema allows only the types that a Field has.
std::vector<Field> fields_of(const wire::JsonObject& body) {
  std::vector<Field> fields;
  for (const wire::JsonMember& member : body) {
    if (member.name == "name" || member.name == "outstanding") continue;  // What is read can be sent back.
    if (const auto* integer = member.value.as<std::int64_t>()) {
      fields.push_back({member.name, *integer});
    } else if (const auto* boolean = member.value.as<bool>()) {
      fields.push_back({member.name, *boolean});
    } else if (const auto* text = member.value.as<std::string>()) {
      fields.push_back({member.name, std::string_view(*text)});
    }
  }
  return fields;
}

}  // namespace

Result<wire::HttpResponse> handle_list_limits(HttpCall& call) { return list_answer("limits", call.store.limits()); }

Result<wire::HttpResponse> handle_get_limit(HttpCall& call) {
  const auto limit = call.store.limit(call.parameters[0]);
  if (!limit) return tl::make_unexpected(limit.error());
  return *limit ? limit_answer(call.store, **limit, 200) : no_limit(call.parameters[0]);
}

Result<wire::HttpResponse> handle_put_limit(HttpCall& call) {
  const std::string& name = call.parameters[0];
  if (text_field(call.body, "name", name) != name) {
    return base::invalid("name must be as in the path, or absent");
  }
  const auto limit = make_limit(name, fields_of(*call.body.as<wire::JsonObject>()));
  if (!limit) return tl::make_unexpected(limit.error());
  const auto before = call.store.limit(name);
  if (!before) return tl::make_unexpected(before.error());
  const auto defined = store::define_in_scope(call.store, *limit);
  if (!defined) return tl::make_unexpected(defined.error());
  return limit_answer(call.store, *limit, *before ? 200 : 201);
}

Result<wire::HttpResponse> handle_delete_limit(HttpCall& call) {
  const auto dropped = call.store.drop(call.parameters[0]);
  if (!dropped) return tl::make_unexpected(dropped.error());
  return *dropped ? wire::HttpResponse{.status = 204} : no_limit(call.parameters[0]);
}

Result<wire::HttpResponse> handle_put_override(HttpCall& call) {
  const Amount amount = integer_field(call.body, "amount");
  const auto done = call.store.set_override({call.parameters[0], call.parameters[1]}, amount);
  if (!done) return tl::make_unexpected(done.error());
  return json_answer([&](wire::JsonWriter& writer) { writer.member("amount", amount); });
}

Result<wire::HttpResponse> handle_delete_override(HttpCall& call) {
  const auto done = call.store.set_override({call.parameters[0], call.parameters[1]}, std::nullopt);
  if (!done) return tl::make_unexpected(done.error());
  return wire::HttpResponse{.status = 204};
}

Result<wire::HttpResponse> handle_get_meter(HttpCall& call) {
  const auto usage = call.store.usage({call.parameters[0], call.parameters[1]});
  if (!usage) return tl::make_unexpected(usage.error());
  return json_answer([&](wire::JsonWriter& writer) {
    writer.member("used", usage->used).member("held", usage->held).member("remaining", usage->remaining);
    writer.member("limit", usage->limit).member("reset_after_ms", usage->reset_after.ms());
  });
}

Result<wire::HttpResponse> handle_put_meter(HttpCall& call) {
  const auto change = call.store.reconcile({call.parameters[0], call.parameters[1]}, integer_field(call.body, "used"));
  if (!change) return tl::make_unexpected(change.error());
  return json_answer([&](wire::JsonWriter& writer) {
    writer.member("used_before", change->used_before).member("used_now", change->used_now);
  });
}

// A run may take minutes: it is started here, and looked up later.
Result<wire::HttpResponse> handle_start_sync(HttpCall& call) {
  const sync::RunOptions options{.is_dry_run = boolean_field(call.body, "dry_run", false),
                                 .is_forced = boolean_field(call.body, "force", false)};
  const auto number = call.hooks.syncs->start(call.parameters[0], options);
  if (!number) return tl::make_unexpected(number.error());
  auto answer =
      json_answer([&](wire::JsonWriter& writer) { writer.member("run", static_cast<std::int64_t>(*number)); }, 202);
  answer.add_header("Location", "/v1/syncs");
  return answer;
}

Result<wire::HttpResponse> handle_list_syncs(HttpCall& call) {
  return json_answer([&](wire::JsonWriter& writer) {
    writer.name("syncs").begin_array();
    for (const sync::PlanStatus& status : call.hooks.syncs->plans()) {
      writer.begin_object();
      write_fields(describe_sync(status), writer);
      writer.end_object();
    }
    writer.end_array().name("runs").begin_array();
    for (const sync::RunRecord& record : call.hooks.syncs->runs()) {
      writer.begin_object();
      write_fields(describe_run(record), writer);
      write_differences(record.report, writer);
      writer.end_object();
    }
    writer.end_array();
  });
}

}  // namespace mete::server
