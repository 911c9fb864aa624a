#include "server/doors/resp/commands/context.h"

#include "server/decisions/wait_queue.h"
#include "server/doors/resp/resp_session.h"
#include "server/running/service.h"

namespace mete::server {

void nudge(CommandContext& context, std::span<const Charge> charges) { context.service.waits.nudge(charges); }

void nudge_all(CommandContext& context) { context.service.waits.nudge_all(); }

bool does_anyone_wait(const CommandContext& context) { return context.service.waits.size() > 0; }

store::KeyReach reach_of(const CommandContext& context) {
  return context.session->role() == Role::kAdmin ? store::KeyReach::kAnyKey : store::KeyReach::kAllButQuotas;
}

store::Keys* keys_of(CommandContext& context) {
  store::Keys* const keys = context.store.keys();
  if (keys == nullptr) {
    context.reply.error("ERR", "this store keeps limits only: keys need the embedded store, or Redis");
  }
  return keys;
}

}  // namespace mete::server
