// CommandContext: what a command's handler gets, and what handlers have in common.
//
// It names the parts of the server without their headers: a handler that needs more than the store includes that.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <span>

#include "server/decisions/waking_store.h"
#include "server/doors/resp/arguments.h"
#include "store/keys.h"
#include "store/store.h"
#include "wire/resp_writer.h"

namespace mete::server {

class LoopMetrics;
class RespSession;
struct Service;

struct CommandContext {
  Service& service;
  WakingStore store;
  const Arguments& arguments;
  wire::RespWriter& reply;
  LoopMetrics& metrics;
  RespSession* session = nullptr;  // of the client; none for commands that run beside the event loops
  bool is_admin = false;           // the client
};

// Whether the client's password does not allow that, as the configuration has it; the reply is then the reason.
[[nodiscard]] bool refuses_force(CommandContext& context, Mode mode);
[[nodiscard]] bool refuses_give(CommandContext& context);

// Whether a pattern is longer than one may be: to try it on a text takes time in proportion to the length of both.
[[nodiscard]] bool refuses_pattern(CommandContext& context, std::string_view pattern);

// Whether it has failed; the reply is then the reason.
template <class Value>
[[nodiscard]] bool has_failed(CommandContext& context, const Result<Value>& result) {
  if (!result.has_value()) context.reply.error(result.error());
  return !result.has_value();
}

// The keys that the client may remove or replace. Quotas are the admin's: whoever may only use them cannot undo them.
store::KeyReach reach_of(const CommandContext& context);

// Runs `use` on the store's keys; tells what went wrong.
template <class Use, class Write>
void with_keys(CommandContext& context, Use use, Write write) {
  store::Keys keys = context.store.keys();
  const auto result = use(keys);
  if (has_failed(context, result)) return;
  if constexpr (std::is_invocable_v<Write>) {
    write();
  } else {
    write(*result);
  }
}

}  // namespace mete::server
