// Workload: random operations of every kind on a store, over few limits, keys and ids, so that they meet each other.
//
//     Workload workload(seed);
//     workload.define_limits(store).value();
//     workload.step(store);                            // an error only where the store does not answer
//     const Observation before = workload.observe(store);  // what must survive, as text
//
// Everything in an Observation is on disk before it is acknowledged: limits, overrides, quotas' rules, holds and tags;
// and of the limits with `durable always` meters and ids. Of the others only bounds are known: problem_of_others().
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/caller.h"
#include "store/store.h"

namespace mete::sim {

using Observation = std::map<std::string, std::string>;

// The first entry in which they differ; empty if there is none.
std::string difference(const Observation& expected, const Observation& found);

// Limits that a test may use beside the workload's, which never touches them.
inline constexpr std::string_view kNeverLimit = "scratch";
inline constexpr std::string_view kOpenLimit = "open";

class Workload {
 public:
  explicit Workload(std::uint64_t seed) : random_(seed) {}

  Result<void> define_limits(store::Store& store);
  // One operation. An error: kUnavailable.
  Result<void> step(store::Store& store);
  // As one of several, which share an execution.
  Result<void> step(store::Store& store, store::Execution& execution);
  // From now on limits are dropped, and none is defined: that would wait for a walk.
  void define_no_more() { may_define_ = false; }
  // Below this number, from 0 on.
  std::uint64_t roll(std::uint64_t below) { return random_() % below; }

  [[nodiscard]] Observation observe(store::Store& kept) const;
  // What is recorded within a second: the meters of limits with `durable everysec`, and keys.
  [[nodiscard]] Observation observe_others(store::Store& kept) const;
  // Empty if nothing is over its limit. `store` may have lost what was not durable.
  [[nodiscard]] std::string problem_of_others(store::Store& store) const;
  // Observations name the ids that were used last: from here on without the oldest ones.
  void forget_old_ids();

 private:
  // A take or give with an id.
  struct Named {
    std::string id;
    Charge charge;
    bool is_give = false;
  };

  Charge random_charge(bool is_exact);
  std::string new_id() { return "id" + std::to_string(++ids_); }

  Result<void> take(store::Caller& store);
  Result<void> take_with_id(store::Caller& store);
  Result<void> repeat(store::Caller& store);
  static Result<void> execute(store::Caller& store, const Named& named);
  Result<void> take_several(store::Caller& store);
  Result<void> give(store::Caller& store);
  Result<void> hold(store::Caller& store);
  Result<void> settle(store::Caller& store);
  Result<void> reconcile(store::Caller& store);
  Result<void> override_amount(store::Caller& store);
  Result<void> define_or_drop(store::Caller& store);
  Result<void> use_keys(store::Caller& store);

  std::mt19937_64 random_;
  bool may_define_ = true;
  std::uint64_t ids_ = 0;
  std::deque<Named> named_;
  std::deque<std::string> holds_;
};

}  // namespace mete::sim
