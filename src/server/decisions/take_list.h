// take_all: takes of one list, which have nothing to do with each other, each answered for itself.
//
// Those on the same meter, or with the same id, are carried out in their order. All others go together: plain ones in
// one call of the store, and each of the rest beside them where this is a fiber, which waits for a store elsewhere:
//
//     takes ──▶ steps: what comes after another on a meter or an id is in a later one
//       step ──┬── one charge, no id, all or nothing: TakeEach
//              └── each of the others: a Take
#pragma once

#include <mete/result.h>

#include <span>

#include "core/operations.h"
#include "server/decisions/waking_store.h"

namespace mete::server {

struct ListedTake {
  core::Take take;
  Result<core::Verdict> answer = {};  // an error before: it is not carried out
};

void take_all(WakingStore& store, std::span<ListedTake> takes);

}  // namespace mete::server
