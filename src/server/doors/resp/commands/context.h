// CommandContext: what a command's handler gets, and what handlers have in common.
//
// It names the parts of the server without their headers: a handler that needs more than the store includes that.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <span>
#include <type_traits>
#include <vector>

#include "server/doors/resp/arguments.h"
#include "store/caller.h"
#include "store/keys.h"
#include "store/store.h"
#include "wire/resp_writer.h"

namespace mete::server {

class LoopMetrics;
class RespSession;
struct Service;

// Takes that wait are tried again: something may have come back to these meters, or to any.
[[nodiscard]] bool does_anyone_wait(const Service& service);
void nudge(Service& service, std::span<const Charge> charges);
void nudge_all(Service& service);

// The service's store as a command uses it: its operations are part of a batch, and after one that may have made room
// the takes that wait for it are tried again.
class CommandStore : public store::Calls<CommandStore> {
 public:
  CommandStore(Service& service, store::Store& store, store::Execution& execution)
      : service_(service), caller_(store, execution) {}

  template <class What>
  Result<typename What::Answer> run(const What& operation) {
    return run_with(operation, [&](const auto& what) { return caller_.run(what); });
  }
  // For another server, whose nodes keep things for themselves in this store.
  template <class What>
  Result<typename What::Answer> run_for_server(const What& operation) {
    return run_with(operation, [&](const auto& what) { return caller_.run_for_server(what); });
  }

  [[nodiscard]] Instant now() const { return caller_.now(); }
  [[nodiscard]] store::Keys keys() { return caller_.keys(); }
  [[nodiscard]] store::Store& store() const { return caller_.store(); }

 private:
  template <class What, class Run>
  Result<typename What::Answer> run_with(const What& operation, Run run);
  template <class What, class Run>
  Result<typename What::Answer> run_and_nudge(const What& operation, Run run);

  Service& service_;
  store::Caller caller_;
};

// The meters that an operation may have made room on.
inline std::span<const Charge> charges_of(const core::Give& give, std::vector<Charge>& /*room*/) {
  return give.charges;
}
inline std::span<const Charge> charges_of(const core::ShiftUsage& shifts, std::vector<Charge>& room) {
  for (const core::Shift& shift : shifts.shifts) room.push_back({shifts.limit, shift.key});
  return room;
}
template <class What>
std::span<const Charge> charges_of(const What& operation, std::vector<Charge>& room) {
  room.push_back({operation.meter.limit, operation.meter.key});
  return room;
}

template <class What>
inline constexpr bool kMakesRoom = What::kTraits.effect == core::Effect::kSettles && !core::kIsOnKeys<What> &&
                                   !std::is_same_v<What, core::Hold> && !std::is_same_v<What, core::Extend>;

template <class What, class Run>
Result<typename What::Answer> CommandStore::run_with(const What& operation, Run run) {
  if constexpr (kMakesRoom<What>) {
    if (does_anyone_wait(service_)) return run_and_nudge(operation, run);
  }
  return run(operation);
}

template <class What, class Run>
Result<typename What::Answer> CommandStore::run_and_nudge(const What& operation, Run run) {
  std::vector<Charge> charges;
  if constexpr (What::kTraits.home == core::Home::kHold) {
    // The meters of a hold are known only before it ends: so they are looked up first.
    const auto hold = run(core::FindHold{operation.id});
    auto answer = run(operation);
    if (!hold.has_value() || !hold->has_value()) return answer;
    for (const HeldCharge& charge : (*hold)->charges) charges.push_back({charge.limit, charge.key});
    nudge(service_, charges);
    return answer;
  } else {
    auto answer = run(operation);
    if constexpr (What::kTraits.home == core::Home::kEverywhere) {
      nudge_all(service_);
    } else {
      nudge(service_, charges_of(operation, charges));
    }
    return answer;
  }
}

struct CommandContext {
  Service& service;
  CommandStore store;
  const Arguments& arguments;
  wire::RespWriter& reply;
  LoopMetrics& metrics;
  RespSession* session = nullptr;  // of the client; none for commands that run beside the event loops
  bool is_admin = false;           // the client
};

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
