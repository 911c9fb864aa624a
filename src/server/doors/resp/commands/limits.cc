// LIMIT SET, GET, LIST, DEL, OVERRIDE, SYNC, SYNCS.
#include "base/errors.h"
#include "base/names.h"
#include "core/limit_fields.h"
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "server/limits/limit_fields.h"
#include "server/running/service.h"
#include "store/store.h"
#include "sync/fields.h"
#include "sync/worker.h"
#include "wire/answers.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

// LIMIT SET: its name, the kinds in their order, then the options as core/limit_fields.h lists them.
constexpr std::size_t kName = 0;
constexpr std::size_t kFirstKind = 1;
constexpr std::size_t kFirstOption = kFirstKind + base::count_names(core::kKindNames);
enum SyncArgument : std::uint8_t { kSyncName, kSyncDryRun, kSyncForce };
enum OverrideArgument : std::uint8_t { kOverrideName, kOverrideKey, kOverrideAmount };

Result<Limit> read_limit(const Arguments& arguments) {
  wire::NamedValues values;
  for (std::size_t index = kFirstKind; index < kFirstOption; ++index) {
    if (!arguments.has(index)) continue;
    values.push_back({"kind", std::string(to_string(static_cast<Kind>(index - kFirstKind)))});
    values.push_back({"amount", arguments.integer(index)});
  }
  if (values.empty()) {
    return base::invalid("LIMIT SET needs a kind and an amount: BUCKET n, WINDOW n, SLIDING n, CALENDAR n or STOCK n");
  }
  std::size_t index = kFirstOption;
  for (const std::size_t place : core::kLimitOptions) {
    const core::LimitField& field = core::kLimitFields[place];
    if (arguments.has(index)) values.push_back({field.name, value_of_word(field, arguments.text(index))});
    ++index;
  }
  return make_limit(std::string(arguments.text(kName)), values);
}

// Of a limit of which shares are drawn; none if it is new.
std::optional<Amount> amount_before(WakingStore& store, const Limit& limit) {
  if (limit.scope() != Scope::kEscrow) return std::nullopt;
  const auto before = store.limit(limit.name());
  return before.has_value() && *before ? std::optional((*before)->amount()) : std::nullopt;
}

void write_run(wire::RespWriter& reply, const sync::RunRecord& record) {
  reply.map(wire::count_fields(record) + 1);
  wire::write_fields(reply, record, true);
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

void limit_set(CommandContext& context) {
  const auto limit = read_limit(context.arguments);
  const auto before = limit ? amount_before(context.store, *limit) : std::nullopt;
  const auto may = limit ? store::check_scope(context.store.store(), *limit) : limit.error();
  if (has_failed(context, may) || has_failed(context, context.store.define(*limit))) return;
  // A lowered limit counts at once for what is not granted yet: so how much is?
  const auto outstanding = before.value_or(0) > limit->amount() ? context.store.store().outstanding(limit->name())
                                                                : Result<std::optional<Amount>>(std::nullopt);
  if (outstanding.has_value() && outstanding->value_or(0) > 0) {
    context.reply.simple("OK outstanding=" + std::to_string(**outstanding));
  } else {
    context.reply.ok();
  }
}

void limit_get(CommandContext& context) {
  const auto limit = context.store.limit(context.arguments.text(kName));
  if (has_failed(context, limit)) return;
  if (!*limit) {
    context.reply.null_array();
    return;
  }
  const auto fields = tell_limit(context.store.store(), **limit);
  context.reply.map(fields.size());
  write_fields(context.reply, fields);
}

void limit_list(CommandContext& context) {
  const auto names = context.store.limits();
  if (has_failed(context, names)) return;
  write_strings(context.reply, *names);
}

void limit_del(CommandContext& context) {
  const auto dropped = context.store.drop(context.arguments.text(kName));
  if (has_failed(context, dropped)) return;
  context.reply.integer(*dropped ? 1 : 0);
}

void limit_override(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  const std::string_view text = arguments.text(kOverrideAmount);
  std::optional<Amount> amount;
  if (!wire::equals_ignoring_case(text, "NONE")) {
    const auto number = parse_integer(text);
    if (has_failed(context, number)) return;
    amount = *number;
  }
  const auto set = context.store.set_override({arguments.text(kOverrideName), arguments.text(kOverrideKey)}, amount);
  if (has_failed(context, set)) return;
  context.reply.ok();
}

void limit_sync(CommandContext& context) {
  const sync::RunOptions options{.is_dry_run = context.arguments.has(kSyncDryRun),
                                 .is_forced = context.arguments.has(kSyncForce)};
  const auto number = context.service.syncs.start(context.arguments.text(kSyncName), options);
  if (has_failed(context, number)) return;
  context.reply.integer(static_cast<std::int64_t>(*number));
}

void limit_syncs(CommandContext& context) {
  const std::vector<sync::RunRecord> runs = context.service.syncs.runs();
  context.reply.array(runs.size());
  for (const sync::RunRecord& record : runs) write_run(context.reply, record);
}

}  // namespace mete::server::commands
