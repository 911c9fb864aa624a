// CommandContext: what a command's handler gets, and what handlers have in common.
//
// It names the parts of the server without their headers: a handler that needs more than the store includes that.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <span>

#include "server/doors/resp/arguments.h"
#include "store/store.h"
#include "wire/resp_writer.h"

namespace mete::server {

class LoopMetrics;
class RespSession;
struct Service;

struct CommandContext {
  Service& service;
  store::Store& store;  // the service's
  const Arguments& arguments;
  wire::RespWriter& reply;
  LoopMetrics& metrics;
  RespSession* session;  // of the client; none for commands that run beside the event loops
};

// Whether it has failed; the reply is then the reason.
template <class Value>
[[nodiscard]] bool has_failed(CommandContext& context, const tl::expected<Value, Error>& result) {
  if (!result) context.reply.error(result.error());
  return !result.has_value();
}

// Something may have come back to these meters, or to any: takes that wait are tried again.
void nudge(CommandContext& context, std::span<const Charge> charges);
void nudge_all(CommandContext& context);
[[nodiscard]] bool does_anyone_wait(const CommandContext& context);

// The keys that the client may remove or replace. Quotas are the admin's: whoever may only use them cannot undo them.
store::KeyReach reach_of(const CommandContext& context);

// Null where the store has no keys; the reply then says so.
store::Keys* keys_of(CommandContext& context);

// Runs `use` on the store's keys; tells if the store has none, or what went wrong.
template <class Use, class Write>
void with_keys(CommandContext& context, Use use, Write write) {
  store::Keys* const keys = keys_of(context);
  if (keys == nullptr) return;
  const auto result = use(*keys);
  if (!has_failed(context, result)) write(*result);
}

}  // namespace mete::server
