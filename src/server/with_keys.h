// What the commands on keys have in common.
#pragma once

#include "server/resp_session.h"
#include "store/keys.h"

namespace mete::server {

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
