// STORE …: what other Mete servers ask, exact to the nanosecond. Where a command for everyone says all there is to say,
// they send that one.
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/commands/store_messages.h"
#include "server/doors/resp/replies.h"

namespace mete::server::commands {

using store::servers::ExtendMessage;
using store::servers::HoldMessage;
using store::servers::HoldsMessage;
using store::servers::LimitMessage;
using store::servers::MeterMessage;
using store::servers::ScanMessage;
using store::servers::ShiftMessage;
using store::servers::TakeMessage;
using store::servers::VerdictMessage;

namespace {

store::MeterName name_of(const MeterMessage& meter) { return {meter.limit, meter.key}; }

// A decision, and how the meters stand by it.
void answer_decision(CommandContext& context, std::span<const Charge> charges, const Result<core::Verdict>& verdict,
                     std::vector<Usage> usages) {
  if (verdict) note_decision(context.metrics, charges, *verdict);
  answer_message(context, verdict.map([&](const core::Verdict& made) {
    return VerdictMessage{.verdict = made, .usages = std::move(usages)};
  }));
}

core::TakeRequest request_of(const TakeMessage& message, std::span<Usage> usages) {
  return {.charges = message.charges,
          .mode = message.mode,
          .id = message.id,
          .remembers_denial = message.remembers_denial,
          .usages = usages};
}

}  // namespace

void store_take(CommandContext& context) {
  const auto message = read_message<TakeMessage>(context);
  if (!message) return;
  std::vector<Usage> usages(message->wants_usages ? message->charges.size() : 0);
  const auto verdict = context.store.take(request_of(*message, usages));
  answer_decision(context, message->charges, verdict, std::move(usages));
}

void store_recall(CommandContext& context) {
  const auto message = read_message<TakeMessage>(context);
  if (message) answer_message(context, context.store.recall(request_of(*message, {})));
}

void store_usage(CommandContext& context) {
  const auto meter = read_message<MeterMessage>(context);
  if (meter) answer_message(context, context.store.usage(name_of(*meter)));
}

void store_shift(CommandContext& context) {
  const auto message = read_message<ShiftMessage>(context);
  if (!message) return;
  const core::Shift shift{.key = message->meter.key, .change = message->change};
  Result<core::Shifted> answer;
  context.store.shift({.limit = message->meter.limit, .since = message->since, .shifts = {&shift, 1}}, {&answer, 1});
  const Charge charge{message->meter.limit, message->meter.key};
  nudge(context, {&charge, 1});
  answer_message(context, answer);
}

void store_scan(CommandContext& context) {
  const auto message = read_message<ScanMessage>(context);
  if (message) answer_message(context, context.store.scan(message->limit, message->cursor, message->count));
}

void store_hold(CommandContext& context) {
  const auto message = read_message<HoldMessage>(context);
  if (!message) return;
  std::vector<Usage> usages(message->wants_usages ? message->charges.size() : 0);
  const auto verdict = context.store.hold({.charges = message->charges,
                                           .ttl = message->ttl,
                                           .id = message->id,
                                           .is_id_random = message->is_id_random,
                                           .tag = message->tag,
                                           .usages = usages});
  answer_decision(context, message->charges, verdict, std::move(usages));
}

void store_extend(CommandContext& context) {
  const auto message = read_message<ExtendMessage>(context);
  if (message) answer_message(context, context.store.extend(message->id, message->ttl));
}

void store_find(CommandContext& context) {
  const auto id = read_message<std::string_view>(context);
  if (id) answer_message(context, context.store.find_hold(*id));
}

void store_holds(CommandContext& context) {
  const auto message = read_message<HoldsMessage>(context);
  if (message) answer_message(context, context.store.holds(name_of(message->meter), message->count_max));
}

void store_oldest(CommandContext& context) {
  const auto count_max = read_message<std::size_t>(context);
  if (count_max) answer_message(context, context.store.oldest_holds(*count_max));
}

void store_define(CommandContext& context) {
  const auto message = read_message<LimitMessage>(context);
  if (!message) return;
  const auto defined = context.store.define(message->limit());
  if (defined) nudge_all(context);
  answer_message(context, defined);
}

void store_limit(CommandContext& context) {
  const auto name = read_message<std::string_view>(context);
  if (!name) return;
  answer_message(context, context.store.limit(*name).map([](const std::optional<Limit>& limit) {
    return limit ? std::optional(LimitMessage(*limit)) : std::nullopt;
  }));
}

void store_override(CommandContext& context) {
  const auto meter = read_message<MeterMessage>(context);
  if (meter) answer_message(context, context.store.override_of(name_of(*meter)));
}

void store_stats(CommandContext& context) { write_message(context, context.store.statistics()); }

}  // namespace mete::server::commands
