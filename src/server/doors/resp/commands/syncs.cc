// LIMIT SYNC, LIMIT SYNCS.
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/replies.h"
#include "server/limits/sync_description.h"

namespace mete::server::commands {

namespace {

enum SyncArgument : std::uint8_t { kName, kDryRun, kForce };

void write_run(wire::RespWriter& reply, const sync::RunRecord& record) {
  const std::vector<LimitField> fields = describe_run(record);
  reply.map(fields.size() + 1);
  write_fields(reply, fields);
  reply.bulk("differences");
  reply.array(record.report.largest.size());
  for (const sync::Difference& difference : record.report.largest) {
    reply.array(3);
    reply.bulk(difference.key);
    reply.integer(difference.used);
    reply.integer(difference.truth);
  }
}

}  // namespace

void limit_sync(CommandContext& context) {
  const sync::RunOptions options{.is_dry_run = context.arguments.has(kDryRun),
                                 .is_forced = context.arguments.has(kForce)};
  const auto number = context.service.syncs.start(context.arguments.text(kName), options);
  if (!number) {
    context.reply.error(number.error());
    return;
  }
  context.reply.integer(static_cast<std::int64_t>(*number));
}

void limit_syncs(CommandContext& context) {
  const std::vector<sync::RunRecord> runs = context.service.syncs.runs();
  context.reply.array(runs.size());
  for (const sync::RunRecord& record : runs) write_run(context.reply, record);
}

}  // namespace mete::server::commands
