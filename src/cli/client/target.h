// Target: the limits that a command works on, in the store of --on or on a server. What nodes keep for themselves there
// is hidden, as at every door. What goes wrong is an Error that says what to do next.
//
//     auto target = TRY(Target::open(invocation, console));
//     const auto usage = TRY(target.usage({"api", "alice"}));
//
// Thread safety: none.
#pragma once

#include <mete/result.h>

#include <memory>
#include <utility>
#include <vector>

#include "cli/client/replies.h"
#include "cli/frame/command.h"
#include "store/caller.h"
#include "store/store.h"

namespace mete::cli {

// A command's own options, and behind them those that say where its limits are, and --json.
std::vector<Argument> target_options(std::vector<Argument> own = {});

class Target : public store::Calls<Target> {
 public:
  // `patience`: how long a take may wait until it fits.
  static Result<Target> open(const Invocation& invocation, const Console& console, Duration patience = {});

  template <class What>
  Result<typename What::Answer> run(const What& operation) {
    store::Execution execution;
    return store::run_for_client(*store_, operation, execution).map_error(explain);
  }
  // A server lets takes wait in turn. Elsewhere there is nobody to do that: they are tried again when they may fit.
  Result<core::Verdict> take(core::Take take);

  [[nodiscard]] store::Store& store() { return *store_; }

 private:
  Target(std::unique_ptr<store::Store> store, Duration patience) : store_(std::move(store)), patience_(patience) {}

  std::unique_ptr<store::Store> store_;
  Duration patience_;  // zero where the store waits itself
};

}  // namespace mete::cli
