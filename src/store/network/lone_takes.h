// LoneTakes: takes of one charge that ask for nothing but the decision, of different callers. Those that come while
// others are under way go together (store/network/combiner.h), as a TakeEach.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/monotonic.h"
#include "core/operations.h"
#include "store/network/combiner.h"

namespace mete::store {

inline bool is_lone(const core::Take& take) {
  return take.charges.size() == 1 && take.mode == Mode::kTake && take.id.empty() && take.usages.empty();
}

class LoneTakes {
 public:
  // `run`, a function of TakeEach, answers those that go together, and never comes back here: it would wait for itself.
  template <class Run>
  Result<core::Verdict> join(const Charge& charge, Run run) {
    Lone take{.charge = charge};
    together_.join(take, [&](std::span<Lone* const> takes) {
      std::vector<Charge> charges;
      charges.reserve(takes.size());
      for (const Lone* each : takes) charges.push_back(each->charge);
      std::vector<Result<core::Verdict>> answers(takes.size());
      const Instant begun = base::monotonic_now();
      run(core::TakeEach{.charges = charges, .answers = answers});
      for (std::size_t i = 0; i < takes.size(); ++i) takes[i]->answer = std::move(answers[i]);
      note_run(base::monotonic_now() - begun);
      return true;
    });
    return std::move(take.answer);
  }

 private:
  struct Lone {
    Charge charge;
    std::uint64_t lane = 0;  // none
    Result<core::Verdict> answer = {};
  };

  // The quickest of the latest runs tells the distance: what the server does for it takes microseconds.
  void note_run(Duration took) {
    constexpr int kRunsMeasured = 64;
    constexpr Duration kFar = std::chrono::milliseconds(1);
    const std::lock_guard guard(mutex_);
    shortest_ = std::min(shortest_, took);
    if (++runs_ % kRunsMeasured == 0) {
      shortest_before_ = shortest_;
      shortest_ = Duration::never();
    }
    const Duration distance = std::min(shortest_, shortest_before_);
    together_.set_distance(distance < kFar ? Duration() : distance);
  }

  Combiner<Lone> together_{{.near = 2, .far = 64, .together_max = 256}};
  std::mutex mutex_;
  std::uint64_t runs_ = 0;  // under mutex_, as all below
  Duration shortest_ = Duration::never();
  Duration shortest_before_ = Duration::never();
};

}  // namespace mete::store
