// run_sync: brings what the keys of a limit have used to what a source of truth says, while everything goes on.
//
//     lock ─▶ first look ─▶ snapshot ─▶ second look ─▶ query ─▶ differences ─▶ shifts
//             every key's usage    (all the query sees)
//
// Of each key the difference between truth and mark is added to what it has used by then, so that all that happens
// after the looks counts on (S6), and what is held is not touched (S5). The mark is the smaller of two looks, one
// before the snapshot and one after it: what happens between them can be counted too much, until the next run, but
// hardly too little. docs/sync.md has the whole of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "sync/plan.h"
#include "sync/report.h"
#include "sync/source.h"

namespace mete::store {
class Store;
}

namespace mete::sync {

// Called now and then.
struct RunHooks {
  std::function<void(const Progress&)> on_progress = {};
  std::function<bool()> is_stopping = {};  // true: it ends as soon as it can, with an error
};

Report run_sync(const Plan& plan, const RunOptions& options, store::Store& store, Source& source,
                const RunHooks& hooks = {});

}  // namespace mete::sync
