// HOLD, COMMIT, CANCEL, EXTEND, HOLD.GET, HOLDS.
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "wire/answers.h"

namespace mete::server::commands {

namespace {

enum HoldArgument : std::uint8_t { kHoldTtl = 1, kHoldId, kHoldTag };
enum CommitArgument : std::uint8_t { kCommitId, kCommitAmounts, kCommitOverage };
enum ExtendArgument : std::uint8_t { kExtendId, kExtendTtl };
enum HoldsArgument : std::uint8_t { kHoldsLimit, kHoldsKey, kHoldsCount };

constexpr std::int64_t kHoldsListedByDefault = 1000;
constexpr std::int64_t kHoldsListedMax = 100'000;

}  // namespace

void hold(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  if (!arguments.has(kHoldTtl)) {
    context.reply.error("ERR", "HOLD needs TTL duration: how long the hold lasts if nobody ends it");
    return;
  }
  if (refuses_empty_id(context, kHoldId)) return;
  const bool is_id_random = !arguments.has(kHoldId);
  const std::string random_id = is_id_random ? context.store.store().new_hold_id(arguments.charges()) : std::string();
  const core::Hold request{.charges = arguments.charges(),
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
  write_violated(context.reply, request.charges, *verdict);
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
  write_settlement(context.reply,
                   context.store.commit({arguments.text(kCommitId), std::span(amounts).first(words.size()),
                                         arguments.has(kCommitOverage)}));
}

void cancel(CommandContext& context) {
  write_settlement(context.reply, context.store.cancel(context.arguments.text(0)));
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
  if (!hold.has_value()) {
    context.reply.error(hold.error());
  } else if (!*hold) {
    context.reply.null_array();
  } else {
    context.reply.map(wire::count_fields(**hold));
    wire::write_fields(context.reply, **hold, true);
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
