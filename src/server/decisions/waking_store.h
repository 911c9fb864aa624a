// WakingStore: the store as a client's door uses it: its operations are part of a batch, and after one that may have
// made room the takes that wait for it are tried again, and no others.
//
// It names the queue without its header: a handler needs nothing of it.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <span>
#include <type_traits>
#include <vector>

#include "store/caller.h"
#include "store/keys.h"
#include "store/store.h"

namespace mete::server {

class WaitQueue;

namespace waking {

[[nodiscard]] bool does_anyone_wait(const WaitQueue* waits);
void nudge(WaitQueue& waits, std::span<const Charge> charges);
void nudge_all(WaitQueue& waits);

}  // namespace waking

class WakingStore : public store::Calls<WakingStore> {
 public:
  // Without a queue nobody waits.
  WakingStore(WaitQueue* waits, store::Store& store, store::Execution& execution)
      : waits_(waits), caller_(store, execution), execution_(execution) {}

  // For operations that are under way at the same time: the same store with an execution of their own, which begins as
  // this one and is noted in it when they have ended.
  [[nodiscard]] store::Execution begin_own() const {
    return {.now = execution_.now, .waits_for_disk = execution_.waits_for_disk};
  }
  [[nodiscard]] WakingStore with(store::Execution& own) const { return {waits_, caller_.store(), own}; }
  void note(const store::Execution& own) { execution_.note(own.ticket); }

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

  WaitQueue* const waits_;
  store::Caller caller_;
  store::Execution& execution_;
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
Result<typename What::Answer> WakingStore::run_with(const What& operation, Run run) {
  if constexpr (kMakesRoom<What>) {
    if (waking::does_anyone_wait(waits_)) return run_and_nudge(operation, run);
  }
  return run(operation);
}

template <class What, class Run>
Result<typename What::Answer> WakingStore::run_and_nudge(const What& operation, Run run) {
  std::vector<Charge> charges;
  if constexpr (What::kTraits.home == core::Home::kHold) {
    // The meters of a hold are known only before it ends: so they are looked up first.
    const auto hold = run(core::FindHold{operation.id});
    auto answer = run(operation);
    if (!hold.has_value() || !hold->has_value()) return answer;
    for (const HeldCharge& charge : (*hold)->charges) charges.push_back({charge.limit, charge.key});
    waking::nudge(*waits_, charges);
    return answer;
  } else {
    auto answer = run(operation);
    if constexpr (What::kTraits.home == core::Home::kEverywhere) {
      waking::nudge_all(*waits_);
    } else {
      waking::nudge(*waits_, charges_of(operation, charges));
    }
    return answer;
  }
}

}  // namespace mete::server
