// Takes.

#include <algorithm>

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

Result<void> EtcdStore::perform(const core::TakeEach& takes) {
  constexpr std::size_t kTogether = Transactor::kEntriesMax / 3;
  for (std::size_t first = 0; first < takes.charges.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, takes.charges.size() - first);
    take_together({takes.charges.subspan(first, count), takes.answers.subspan(first, count)});
  }
  return {};
}

void EtcdStore::take_together(const core::TakeEach& takes) {
  Call call = {.entries = charged_entries(takes.charges)};
  call.decide = [&](engine::Engine& engine, Instant now) {
    bool changes = false;
    for (std::size_t i = 0; i < takes.charges.size(); ++i) {
      takes.answers[i] = engine.take({.charges = takes.charges.subspan(i, 1)}, now);
      changes |= takes.answers[i].has_value() && takes.answers[i]->is_allowed;
    }
    return changes;
  };
  const auto done = transactor_.change(call);
  if (done) return;
  for (Result<core::Verdict>& answer : takes.answers) answer = done.error();
}

}  // namespace mete::store::etcd
