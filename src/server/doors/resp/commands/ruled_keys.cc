// Keys that carry their own rule: quotas and throttles.
#include "base/errors.h"
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"

namespace mete::server::commands {

namespace {

enum QuotaArgument : std::uint8_t { kQuotaKey, kQuotaLimit, kQuotaSeconds, kQuotaUnits };

store::QuotaRule quota_rule(const Arguments& arguments) {
  return {arguments.integer(kQuotaLimit), std::chrono::seconds(arguments.integer(kQuotaSeconds))};
}

enum ThrottleArgument : std::uint8_t {
  kThrottleKey,
  kThrottleBurst,
  kThrottleTokens,
  kThrottlePeriod,
  kThrottleQuantity
};

// `spare` is what the capacity has beyond max_burst.
template <class Write>
void throttle_with(CommandContext& context, Amount spare, Duration period, Write write) {
  with_keys(
      context,
      [&](store::Keys& keys) -> Result<core::Verdict> {
        const Arguments& arguments = context.arguments;
        Amount capacity = 0;
        if (arguments.integer(kThrottleBurst) < 0 ||
            __builtin_add_overflow(arguments.integer(kThrottleBurst), spare, &capacity)) {
          return base::invalid("max_burst is out of range");
        }
        return keys.throttle(arguments.text(kThrottleKey), {.capacity = capacity,
                                                            .count = arguments.integer(kThrottleTokens),
                                                            .period = period,
                                                            .quantity = arguments.integer_or(kThrottleQuantity, 1)});
      },
      write);
}

}  // namespace

void quotaset(CommandContext& context) {
  with_keys(
      context,
      [&](store::Keys& keys) {
        return keys.quota_set(context.arguments.text(kQuotaKey), quota_rule(context.arguments));
      },
      [&] { context.reply.ok(); });
}

void quotaget(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.quota_get(context.arguments.text(kQuotaKey)); },
      [&](const std::optional<store::QuotaStanding>& quota) {
        if (quota) {
          context.reply.integers(quota->rule.amount, quota->rule.window.seconds(), quota->remaining);
        } else {
          context.reply.null_array();
        }
      });
}

void quotadel(CommandContext& context) {
  with_keys(
      context, [&](store::Keys& keys) { return keys.quota_remove(context.arguments.text(kQuotaKey)); },
      [&](bool) { context.reply.ok(); });
}

void quotaincr(CommandContext& context) {
  with_keys(
      context,
      [&](store::Keys& keys) {
        return keys.quota_take(context.arguments.text(kQuotaKey), quota_rule(context.arguments),
                               context.arguments.integer_or(kQuotaUnits, 1));
      },
      [&](Amount remaining) { context.reply.integer(remaining); });
}

void cl_throttle(CommandContext& context) {
  throttle_with(context, 1, std::chrono::seconds(context.arguments.integer(kThrottlePeriod)),
                [&](const core::Verdict& verdict) { write_cell(context.reply, verdict); });
}

void gcra(CommandContext& context) {
  throttle_with(context, 1, context.arguments.duration(kThrottlePeriod),
                [&](const core::Verdict& verdict) { write_cell(context.reply, verdict); });
}

void throttle(CommandContext& context) {
  throttle_with(context, 0, std::chrono::seconds(context.arguments.integer(kThrottlePeriod)),
                [&](const core::Verdict& verdict) { write_throttle(context.reply, verdict); });
}

}  // namespace mete::server::commands
