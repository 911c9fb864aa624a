// Who may define a limit of scope escrow.
//
// Every store keeps such a limit: to the shared store of a cluster it is a limit like any other, from which the nodes
// draw. But whoever asks for shares where none can be drawn would get one limit for each node instead of one for all,
// so those who define limits for themselves (clients, mete.toml, the library) are asked here first. Nodes, which define
// limits in the store that they share, are not.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include "store/store.h"

namespace mete::store {

inline Result<void> check_scope(const Store& store, const Limit& limit) {
  if (limit.scope() != Scope::kEscrow || store.draws_shares()) return {};
  return tl::make_unexpected(
      Error{ErrorCode::kInvalid, "scope: escrow needs shared and node in [escrow] of mete.toml: use node or shared"});
}

// Store::define for those who must not do without shares where the limit wants them.
inline Result<void> define_in_scope(Store& store, const Limit& limit) {
  if (auto ok = check_scope(store, limit); !ok) return ok;
  return store.define(limit);
}

}  // namespace mete::store
