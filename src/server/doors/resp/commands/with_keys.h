// What the commands on keys have in common.
#pragma once

#include "server/doors/resp/resp_session.h"
#include "store/keys.h"

namespace mete::server {

// Quotas are the admin's: whoever may only use them cannot undo them.
inline store::KeyReach reach_of(const CommandContext& context) {
  return context.session->role() == Role::kAdmin ? store::KeyReach::kAnyKey : store::KeyReach::kAllButQuotas;
}

// Runs `use` on the store's keys; tells if the store has none, or what went wrong.
template <class Use, class Write>
void with_keys(CommandContext& context, Use use, Write write) {
  store::Keys* const keys = context.service.store.keys();
  if (keys == nullptr) {
    context.reply.error("ERR", "this store keeps limits only: keys need the embedded store, or Redis");
    return;
  }
  const auto result = use(*keys);
  if (result) {
    write(*result);
  } else {
    context.reply.error(result.error());
  }
}

}  // namespace mete::server
