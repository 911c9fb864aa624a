#include "cli/client/target.h"

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "cli/client/server_store.h"
#include "net/deadline.h"
#include "net/fiber.h"
#include "server/decisions/wait_queue.h"
#include "store/open.h"

namespace mete::cli {

namespace {

// The URL of the store; empty where a server is meant. Whoever names a server does not mean the store of METE_ON.
Result<std::string> store_url(const Invocation& invocation, const Console& console) {
  for (const Option& option : client_options()) {
    if (option.name == "json" || !invocation.given(option.name)) continue;
    if (!invocation.given("on")) return std::string();
    return base::invalid("option '--" + option.name +
                         "' is about a server, and --on about any store: give one of them");
  }
  return invocation.value("on", console);
}

}  // namespace

std::vector<Option> target_options(std::vector<Option> own) {
  own.push_back({"on", ValueKind::kText, "URL",
                 "Where the limits are, instead of on a server: embedded:DIRECTORY, redis://, postgres://, etcd:// or "
                 "mete://",
                 "", "METE_ON"});
  return client_options(std::move(own));
}

Result<Target> Target::open(const Invocation& invocation, const Console& console, Duration patience) {
  const auto url = TRY(store_url(invocation, console));
  if (url.empty()) {
    auto client = TRY(Client::open(invocation, console, patience));
    return Target(std::make_unique<ServerStore>(std::move(client), patience), Duration());
  }
  auto store = TRY(store::open_store(url, Options()).map_error(explain));
  return Target(std::move(store), patience);
}

Result<core::Verdict> Target::take(core::Take take) {
  const auto known = TRY(patience_ > Duration() ? recall(take) : Result<std::optional<core::Verdict>>(std::nullopt));
  if (known) return *known;
  const auto deadline = net::Deadline::in(patience_);
  for (;;) {
    const Duration left = deadline.left();
    take.remembers_denial = left == Duration();
    const auto verdict = TRY(run(take));
    if (verdict.is_allowed || left == Duration() || server::can_never_fit(take.charges, verdict)) return verdict;
    net::pause_for(std::min(left, server::retry_wait(verdict)));
  }
}

}  // namespace mete::cli
