// HOLD, COMMIT, CANCEL, EXTEND, HOLD.GET, HOLDS.
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"

namespace mete::server::commands {

namespace {

enum HoldArgument : std::uint8_t { kHoldTtl = 1, kHoldId, kHoldTag };
enum CommitArgument : std::uint8_t { kCommitId, kCommitAmounts, kCommitOverage };
enum ExtendArgument : std::uint8_t { kExtendId, kExtendTtl };
enum HoldsArgument : std::uint8_t { kHoldsLimit, kHoldsKey, kHoldsCount };

constexpr std::int64_t kHoldsListedByDefault = 1000;
constexpr std::int64_t kHoldsListedMax = 100'000;

// The meters of a hold are known only before it ends: so they are looked up first, if anyone waits.
std::optional<HoldInfo> hold_if_anyone_waits(CommandContext& context, std::string_view id) {
  if (!does_anyone_wait(context)) return std::nullopt;
  auto hold = context.store.find_hold(id);
  return hold ? *hold : std::nullopt;
}

void nudge_hold(CommandContext& context, const std::optional<HoldInfo>& hold) {
  if (!hold) return;
  std::vector<Charge> charges;
  for (const HeldCharge& charge : hold->charges) charges.push_back({charge.limit, charge.key});
  nudge(context, charges);
}

void write_hold(wire::RespWriter& reply, const HoldInfo& hold) {
  reply.map(4);
  reply.bulk("state");
  reply.bulk(to_string(hold.state));
  reply.bulk("expires_in_ms");
  reply.integer(hold.expires_in.ms());
  reply.bulk("tag");
  reply.bulk(hold.tag);
  reply.bulk("charges");
  reply.array(hold.charges.size());
  for (const HeldCharge& charge : hold.charges) {
    reply.array(3);
    reply.bulk(charge.limit);
    reply.bulk(charge.key);
    reply.integer(charge.amount);
  }
}

}  // namespace

void hold(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  if (!arguments.has(kHoldTtl)) {
    context.reply.error("ERR", "HOLD needs TTL duration: how long the hold lasts if nobody ends it");
    return;
  }
  if (refuses_empty_id(context, kHoldId)) return;
  const bool is_id_random = !arguments.has(kHoldId);
  const std::string random_id = is_id_random ? context.store.new_hold_id(arguments.charges()) : std::string();
  const core::HoldRequest request{.charges = arguments.charges(),
                                  .ttl = arguments.duration(kHoldTtl),
                                  .id = is_id_random ? random_id : arguments.text(kHoldId),
                                  .is_id_random = is_id_random,
                                  .tag = arguments.text_or(kHoldTag, {})};
  const auto verdict = context.store.hold(request);
  if (has_failed(context, verdict)) return;
  note_decision(context.metrics, request.charges, *verdict);
  context.reply.array(7);
  context.reply.integer(verdict->is_allowed ? 1 : 0);
  context.reply.bulk(!verdict->is_allowed && is_id_random ? std::string_view() : request.id);
  context.reply.integer(verdict->remaining);
  context.reply.integer(verdict->limit);
  context.reply.integer(verdict->retry_after.ms());
  context.reply.integer(verdict->reset_after.ms());
  write_violated(context.reply, request.charges, verdict->violated);
}

void commit(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  std::array<Amount, kChargesMax> amounts{};
  const auto words = arguments.rest();
  if (words.size() > kChargesMax) {
    context.reply.error("ERR", "more amounts than a hold can have charges");
    return;
  }
  for (std::size_t index = 0; index < words.size(); ++index) {
    const auto amount = parse_integer(words[index]);
    if (has_failed(context, amount)) return;
    amounts[index] = *amount;
  }
  const auto waited_for = hold_if_anyone_waits(context, arguments.text(kCommitId));
  write_settlement(context.reply,
                   context.store.commit({arguments.text(kCommitId), std::span(amounts).first(words.size()),
                                         arguments.has(kCommitOverage)}));
  nudge_hold(context, waited_for);
}

void cancel(CommandContext& context) {
  const std::string_view id = context.arguments.text(0);
  const auto waited_for = hold_if_anyone_waits(context, id);
  write_settlement(context.reply, context.store.cancel(id));
  nudge_hold(context, waited_for);
}

void extend(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  if (!arguments.has(kExtendTtl)) {
    context.reply.error("ERR", "syntax error");
    return;
  }
  const auto expires_in = context.store.extend(arguments.text(kExtendId), arguments.duration(kExtendTtl));
  if (has_failed(context, expires_in)) return;
  context.reply.integer(expires_in->ms());
}

void hold_get(CommandContext& context) {
  const auto hold = context.store.find_hold(context.arguments.text(0));
  if (!hold) {
    context.reply.error(hold.error());
  } else if (!*hold) {
    context.reply.null_array();
  } else {
    write_hold(context.reply, **hold);
  }
}

void holds(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  const std::int64_t count = arguments.integer_or(kHoldsCount, kHoldsListedByDefault);
  if (count < 1 || count > kHoldsListedMax) {
    context.reply.error("ERR", "COUNT must be from 1 to " + std::to_string(kHoldsListedMax));
    return;
  }
  const auto ids =
      context.store.holds({arguments.text(kHoldsLimit), arguments.text(kHoldsKey)}, static_cast<std::size_t>(count));
  if (has_failed(context, ids)) return;
  write_strings(context.reply, *ids);
}

void holds_tag(CommandContext& context) {
  const auto ids = context.store.holds_tagged(context.arguments.text(0));
  if (has_failed(context, ids)) return;
  write_strings(context.reply, *ids);
}

}  // namespace mete::server::commands
