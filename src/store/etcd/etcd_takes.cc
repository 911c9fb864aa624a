// Takes.

#include <algorithm>
#include <array>

#include "base/try.h"
#include "store/etcd/etcd_store.h"

namespace mete::store::etcd {

Result<core::Verdict> EtcdStore::perform(const core::Take& take) {
  Result<core::Verdict> answer = Error();
  const std::vector<Usage> untold(take.usages.begin(), take.usages.end());
  Call call = {.entries = charged_entries(take.charges, take.id),
               .decide =
                   [&](engine::Engine& engine, Instant now) {
                     std::copy(untold.begin(), untold.end(), take.usages.begin());
                     answer = engine.take(take, now);
                     return answer.has_value() && (answer->is_allowed || !take.id.empty());
                   },
               .is_repeatable = core::is_repeatable(take)};
  TRY(take.mode == Mode::kPeek ? transactor_.read(call) : transactor_.change(call));
  return answer;
}

// Those of one lane go together, in as many transactions as they need.
Result<void> EtcdStore::perform(const core::TakeEach& takes) {
  constexpr std::size_t kTogether = Transactor::kEntriesMax / 3;
  std::array<std::vector<std::size_t>, Transactor::kLanes> lanes;
  for (std::size_t i = 0; i < takes.charges.size(); ++i) {
    lanes[Transactor::lane_of(charged_entries(takes.charges.subspan(i, 1)))].push_back(i);
  }
  for (const std::vector<std::size_t>& lane : lanes) {
    for (std::size_t first = 0; first < lane.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, lane.size() - first);
      take_together(takes, std::span(lane).subspan(first, count));
    }
  }
  return {};
}

void EtcdStore::take_together(const core::TakeEach& takes, std::span<const std::size_t> which) {
  Call call;
  for (const std::size_t i : which) add_meter(call.entries, takes.charges[i].limit, takes.charges[i].key);
  call.decide = [&](engine::Engine& engine, Instant now) {
    bool changes = false;
    for (const std::size_t i : which) {
      takes.answers[i] = engine.take({.charges = takes.charges.subspan(i, 1)}, now);
      changes |= takes.answers[i].has_value() && takes.answers[i]->is_allowed;
    }
    return changes;
  };
  const auto done = transactor_.change(call);
  if (done) return;
  for (const std::size_t i : which) takes.answers[i] = done.error();
}

}  // namespace mete::store::etcd
