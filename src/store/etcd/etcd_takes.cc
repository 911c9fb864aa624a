// Takes and gives.

#include <algorithm>
#include <array>

#include "store/etcd/etcd_store.h"

namespace mete::store::etcd {

Result<core::Verdict> EtcdStore::do_take(const TakeRequest& request) {
  Result<core::Verdict> answer = tl::unexpected(Error());
  const std::vector<Usage> untold(request.usages.begin(), request.usages.end());
  Call call = {.entries = entries_of(request.charges, request.id),
               .decide =
                   [&](engine::Engine& engine, Instant now) {
                     std::copy(untold.begin(), untold.end(), request.usages.begin());
                     answer = engine.take(request, now);
                     return answer && (answer->is_allowed || !request.id.empty());
                   },
               .is_repeatable = !request.id.empty()};
  const auto done = request.mode == Mode::kPeek ? transactor_.read(call) : transactor_.change(call);
  if (done) return answer;
  return request.mode == Mode::kPeek ? tl::unexpected(done.error()) : admit_open(request, done.error());
}

// While etcd cannot be reached: denied by an error, unless each of the limits says that it is open then.
Result<core::Verdict> EtcdStore::admit_open(const TakeRequest& request, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return tl::unexpected(error);
  const auto admitted = book_.admit_open(request);
  if (!admitted) return tl::unexpected(error);
  unrecorded_admissions_.fetch_add(1, std::memory_order_relaxed);
  return *admitted;
}

// Those of one lane go together, in as many transactions as they need.
void EtcdStore::do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) {
  constexpr std::size_t kTogether = Transactor::kEntriesMax / 3;
  std::array<std::vector<std::size_t>, Transactor::kLanes> lanes;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    lanes[Transactor::lane_of(entries_of(charges.subspan(i, 1)))].push_back(i);
  }
  for (const std::vector<std::size_t>& lane : lanes) {
    for (std::size_t first = 0; first < lane.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, lane.size() - first);
      take_together(charges, std::span(lane).subspan(first, count), answers);
    }
  }
}

void EtcdStore::take_together(std::span<const Charge> charges, std::span<const std::size_t> which,
                              std::span<Result<core::Verdict>> answers) {
  Call call;
  for (const std::size_t i : which) add_meter(call.entries, charges[i].limit, charges[i].key);
  call.decide = [&](engine::Engine& engine, Instant now) {
    bool changes = false;
    for (const std::size_t i : which) {
      answers[i] = engine.take({.charges = charges.subspan(i, 1)}, now);
      changes |= answers[i] && answers[i]->is_allowed;
    }
    return changes;
  };
  const auto done = transactor_.change(call);
  if (done) return;
  for (const std::size_t i : which) answers[i] = admit_open({.charges = charges.subspan(i, 1)}, done.error());
}

Result<std::optional<core::Verdict>> EtcdStore::do_recall(const TakeRequest& request) {
  return ask(entries_of({}, request.id),
             [&](engine::Engine& engine, Instant now) { return engine.recall(request, now); });
}

Result<Settlement> EtcdStore::do_give(std::span<const Charge> charges, std::string_view id) {
  return act(
      entries_of(charges, id), [&](engine::Engine& engine, Instant now) { return engine.give(charges, id, now); },
      id.empty() ? Repeatable::kNo : Repeatable::kYes);
}

}  // namespace mete::store::etcd
