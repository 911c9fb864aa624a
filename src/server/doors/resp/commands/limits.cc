// LIMIT SET, GET, LIST, DEL, OVERRIDE, SYNC, SYNCS.
#include <array>

#include "base/errors.h"
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "server/limits/limit_fields.h"
#include "server/limits/sync_description.h"
#include "server/running/service.h"
#include "store/store.h"
#include "sync/worker.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

enum LimitSetArgument : std::uint8_t {
  kName,
  kFirstKind,  // five of them, in the order of Kind
  kPer = kFirstKind + 5,
  kBurst,
  kZone,
  kAnchor,
  kDurable,
  kOnFail,
  kShadow,
  kScope,
};
enum SyncArgument : std::uint8_t { kSyncName, kSyncDryRun, kSyncForce };
enum OverrideArgument : std::uint8_t { kOverrideName, kOverrideKey, kOverrideAmount };

constexpr std::array kKinds = {Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kCalendar, Kind::kStock};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

Result<Limit> read_limit(const Arguments& arguments) {
  std::vector<Field> fields;
  for (std::size_t index = 0; index < kKinds.size(); ++index) {
    if (!arguments.has(kFirstKind + index)) continue;
    fields.push_back({"kind", to_string(kKinds[index])});
    fields.push_back({"amount", arguments.integer(kFirstKind + index)});
  }
  if (fields.empty()) {
    return base::invalid("LIMIT SET needs a kind and an amount: BUCKET n, WINDOW n, SLIDING n, CALENDAR n or STOCK n");
  }
  // These are words of a few letters; the zone is written as it is, and so is the unit of a duration.
  const std::string_view per = arguments.text_or(kPer, {});
  const bool is_duration = !per.empty() && per[0] >= '0' && per[0] <= '9';
  const std::string period = is_duration ? std::string(per) : lower_case(per);
  const std::string durable = lower_case(arguments.text_or(kDurable, {}));
  const std::string on_fail = lower_case(arguments.text_or(kOnFail, {}));
  const std::string scope = lower_case(arguments.text_or(kScope, {}));
  if (arguments.has(kPer)) fields.push_back({"period", std::string_view(period)});
  if (arguments.has(kBurst)) fields.push_back({"burst", arguments.integer(kBurst)});
  if (arguments.has(kZone)) fields.push_back({"zone", arguments.text(kZone)});
  if (arguments.has(kAnchor)) fields.push_back({"anchor", arguments.integer(kAnchor)});
  if (arguments.has(kShadow)) fields.push_back({"shadow", true});
  if (arguments.has(kDurable)) fields.push_back({"durable", std::string_view(durable)});
  if (arguments.has(kOnFail)) fields.push_back({"on_fail", std::string_view(on_fail)});
  if (arguments.has(kScope)) fields.push_back({"scope", std::string_view(scope)});
  return make_limit(std::string(arguments.text(kName)), fields);
}

// Of a limit of which shares are drawn; none if it is new.
std::optional<Amount> amount_before(store::Store& store, const Limit& limit) {
  if (limit.scope() != Scope::kEscrow) return std::nullopt;
  const auto before = store.limit(limit.name());
  return before && *before ? std::optional((*before)->amount()) : std::nullopt;
}

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

void limit_set(CommandContext& context) {
  const auto limit = read_limit(context.arguments);
  const auto before = limit ? amount_before(context.store, *limit) : std::nullopt;
  const auto defined = limit ? store::define_in_scope(context.store, *limit) : tl::unexpected(limit.error());
  if (has_failed(context, defined)) return;
  nudge_all(context);
  // A lowered limit counts at once for what is not granted yet: so how much is?
  const auto outstanding = before.value_or(0) > limit->amount() ? context.store.outstanding(limit->name())
                                                                : Result<std::optional<Amount>>(std::nullopt);
  if (outstanding && outstanding->value_or(0) > 0) {
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
  auto fields = describe_limit(**limit);
  // What cannot be known now is left out: the definition is known all the same.
  const auto outstanding = context.store.outstanding((*limit)->name());
  if (outstanding && *outstanding) fields.push_back({"outstanding", **outstanding});
  context.reply.map(fields.size() + 1);
  context.reply.bulk("name");
  context.reply.bulk((*limit)->name());
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
  nudge_all(context);
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
  const Charge charge{arguments.text(kOverrideName), arguments.text(kOverrideKey)};
  nudge(context, {&charge, 1});
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
