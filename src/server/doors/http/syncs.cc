// Syncs with a source of truth. A run may take minutes: it is started here, and looked up later.
#include "server/doors/http/fields.h"
#include "server/doors/http/handlers.h"
#include "server/limits/sync_description.h"

namespace mete::server {

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
