// STORE … on keys: what other Mete servers ask, exact to the nanosecond.
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/commands/store_messages.h"
#include "store/mete/key_messages.h"

namespace mete::server::commands {

using store::servers::ExpireMessage;
using store::servers::KeyScanMessage;
using store::servers::RemoveMessage;
using store::servers::ThrottleMessage;

namespace {

// Reads the message, runs `use` with it on the store's keys, and answers.
template <class Message, class Use>
void answer_on_keys(CommandContext& context, Use use) {
  const auto message = read_message<Message>(context);
  if (!message) return;
  with_keys(
      context, [&](store::Keys& keys) { return use(keys, *message); },
      [&](const auto& answer) { write_message(context, answer); });
}

// The other server's client, or its password, may have less reach than the other.
store::KeyReach narrower(const CommandContext& context, store::KeyReach asked) {
  return asked == store::KeyReach::kAnyKey ? reach_of(context) : asked;
}

}  // namespace

void store_set(CommandContext& context) {
  answer_on_keys<core::SetRequest>(context, [&](store::Keys& keys, core::SetRequest request) {
    request.reach = narrower(context, request.reach);
    return keys.set(request);
  });
}

void store_increx(CommandContext& context) {
  answer_on_keys<core::BoundedAdd>(
      context, [](store::Keys& keys, const core::BoundedAdd& request) { return keys.add_bounded(request); });
}

void store_quotadel(CommandContext& context) {
  answer_on_keys<std::string_view>(context,
                                   [](store::Keys& keys, std::string_view key) { return keys.quota_remove(key); });
}

void store_throttle(CommandContext& context) {
  answer_on_keys<ThrottleMessage>(context, [](store::Keys& keys, const ThrottleMessage& message) {
    return keys.throttle(message.key, message.request);
  });
}

void store_remove(CommandContext& context) {
  answer_on_keys<RemoveMessage>(context, [&](store::Keys& keys, const RemoveMessage& message) {
    return keys.remove(message.key, narrower(context, message.reach));
  });
}

void store_expires(CommandContext& context) {
  answer_on_keys<std::string_view>(context,
                                   [](store::Keys& keys, std::string_view key) { return keys.expires_at(key); });
}

void store_expire(CommandContext& context) {
  answer_on_keys<ExpireMessage>(context, [](store::Keys& keys, const ExpireMessage& message) {
    return keys.expire(message.key, message.expiry, message.condition);
  });
}

void store_keys(CommandContext& context) {
  answer_on_keys<KeyScanMessage>(context, [](store::Keys& keys, const KeyScanMessage& message) {
    return keys.scan(message.cursor, message.count);
  });
}

}  // namespace mete::server::commands
