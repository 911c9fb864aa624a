#include "server/decisions/wait_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"

namespace mete::server {

namespace {

constexpr Duration kRetryMin = std::chrono::milliseconds(1);
constexpr Duration kRetryMax = std::chrono::seconds(1);
constexpr Duration kRetryMaxUntimed = std::chrono::milliseconds(50);
// Whoever waits is woken by what happens here, and by the clock. What other servers of a shared store do nobody tells:
// so the first of a meter looks now and then, and all of them together no more often than this.
constexpr Duration kLookMin = std::chrono::seconds(1);
constexpr std::int64_t kLooksPerSecond = 100;
// How many are tried before the loop does something else.
constexpr std::size_t kTriedTogether = 64;

std::string meter_of(const Charge& charge) {
  std::string meter(charge.limit);
  meter += '\0';  // no name of a limit has one
  meter += charge.key;
  return meter;
}

}  // namespace

Duration retry_wait(const core::Verdict& denial) {
  return std::clamp(denial.retry_after, kRetryMin, denial.retry_after.is_never() ? kRetryMaxUntimed : kRetryMax);
}

bool can_never_fit(std::span<const Charge> charges, const core::Verdict& verdict) {
  return charges.size() == 1 && verdict.retry_after.is_never() && charges[0].cost > verdict.limit;
}

WaitQueue::Waiter::Waiter(const core::Take& request, Duration patience)
    : mode_(request.mode), id_(request.id), patience_(patience) {
  names_.reserve(request.charges.size() * 2);  // The views below must not move.
  for (const Charge& charge : request.charges) {
    const std::string_view limit = names_.emplace_back(charge.limit);
    const std::string_view key = names_.emplace_back(charge.key);
    charges_.push_back({limit, key, charge.cost});
    meters_.push_back(meter_of(charge));
  }
  std::sort(meters_.begin(), meters_.end());
  meters_.erase(std::unique(meters_.begin(), meters_.end()), meters_.end());
}

void WaitQueue::wait(const Caller& caller, std::shared_ptr<const Waiter> waiter, Deliver deliver) {
  loop_.post(
      [this, caller, waiter = std::move(waiter), deliver = std::move(deliver)] { enter(caller, waiter, deliver); });
}

void WaitQueue::cancel(std::uint64_t caller) {
  loop_.post([this, caller] { leave(caller); });
}

void WaitQueue::nudge(std::span<const Charge> charges) {
  if (size() == 0) return;
  std::vector<std::string> meters;
  for (const Charge& charge : charges) meters.push_back(meter_of(charge));
  loop_.post([this, meters = std::move(meters)] { try_first(meters); });
}

void WaitQueue::nudge_all() {
  if (size() == 0) return;
  loop_.post([this] {
    std::vector<std::string> meters;
    for (const auto& [meter, queue] : queues_) meters.push_back(meter);
    try_first(std::move(meters));
  });
}

void WaitQueue::finish() {
  loop_.post([this] {
    is_finished_ = true;
    give_up_from(0);
  });
}

// Some of them, and then the loop does something else. Whoever comes meanwhile has no patience.
void WaitQueue::give_up_from(std::uint64_t caller) {
  std::vector<std::uint64_t> callers;
  auto next = queued_.lower_bound(caller);
  for (; next != queued_.end() && callers.size() < kTriedTogether; ++next) callers.push_back(next->first);
  const std::optional<std::uint64_t> rest = next == queued_.end() ? std::nullopt : std::optional(next->first);
  for (const std::uint64_t each : callers) give_up(each);
  if (rest) loop_.post([this, from = *rest] { give_up_from(from); });
}

std::optional<Error> WaitQueue::refuse(const GuessSource& source) const {
  if (queued_.size() >= waiters_max_) {
    return base::unavailable("too many takes are waiting (" + std::to_string(waiters_max_) +
                             "): try again later, or raise server.waiters_max");
  }
  const auto own = of_source_.find(source);
  if (own == of_source_.end() || own->second < waiters_max_ - queued_.size()) return std::nullopt;
  return base::unavailable("too many takes of this address are waiting (" + std::to_string(own->second) +
                           "): try again later, or raise server.waiters_max");
}

void WaitQueue::enter(const Caller& caller, std::shared_ptr<const Waiter> waiter, Deliver deliver) {
  if (const auto refusal = refuse(caller.source)) {
    deliver(*refusal, 0);
    return;
  }
  Queued queued{std::move(waiter), std::move(deliver), caller.source, next_place_++};
  for (const std::string& meter : queued.waiter->meters()) queues_[meter].emplace(queued.place, caller.id);
  const Duration patience = is_finished_ ? Duration() : queued.waiter->patience();
  queued.deadline = loop_.after(patience, [this, id = caller.id] { give_up(id); });
  queued_.emplace(caller.id, std::move(queued));
  ++of_source_[caller.source];
  size_.store(queued_.size(), std::memory_order_relaxed);
  attempt(caller.id);
}

void WaitQueue::give_back(const Waiter& waiter, Amount up_to) {
  std::vector<Charge> charges(waiter.charges().begin(), waiter.charges().end());
  if (waiter.request().mode == Mode::kUpTo) charges[0].cost = up_to;
  // Nobody is told, so nobody waits until it is on disk.
  store::Execution execution = {.waits_for_disk = false};
  if (charges[0].cost > 0) std::ignore = store_.run(core::Give{charges}, execution);
  nudge(charges);
}

bool WaitQueue::is_first_everywhere(std::uint64_t caller, const Waiter& waiter) const {
  return std::all_of(waiter.meters().begin(), waiter.meters().end(),
                     [&](const std::string& meter) { return queues_.find(meter)->second.begin()->second == caller; });
}

template <class Ask, class Judge>
void WaitQueue::ask(Queued& queued, std::uint64_t caller, Ask ask, Judge judge) {
  queued.is_asking = true;
  queued.is_nudged = false;
  const auto act = [this, caller, ask, judge, waiter = queued.waiter, deliver = queued.deliver] {
    store::Execution execution = {.waits_for_disk = false};
    const Result<core::Verdict> verdict = ask(*waiter, execution);
    const auto found = queued_.find(caller);
    if (found != queued_.end()) {
      found->second.is_asking = false;
      if (!judge(found->second, verdict)) return;
      leave(caller);
    }
    deliver(verdict, execution.ticket);
  };
  if (fibers_ != nullptr) {
    fibers_->run_soon(act);
  } else {
    act();
  }
}

void WaitQueue::attempt(std::uint64_t caller) {
  const auto found = queued_.find(caller);
  if (found == queued_.end() || !is_first_everywhere(caller, *found->second.waiter)) return;
  if (found->second.is_asking) {
    found->second.is_nudged = true;
    return;
  }
  const auto take = [this](const Waiter& waiter, store::Execution& execution) {
    core::Take request = waiter.request();
    request.remembers_denial = false;
    return store_.run(request, execution);
  };
  ask(found->second, caller, take, [this, caller](Queued& queued, const Result<core::Verdict>& verdict) {
    if (!verdict.has_value() || verdict->is_allowed || can_never_fit(queued.waiter->charges(), *verdict)) return true;
    if (queued.is_over) {
      give_up(caller);
      return false;
    }
    const Duration wait = queued.is_nudged ? Duration() : look_again_after(*verdict);
    loop_.cancel(queued.retry);
    queued.retry = loop_.after(wait, [this, caller] { attempt(caller); });
    return false;
  });
}

// The time is over: what would the answer be now? It is a denial, or the take's if it has just come to fit.
void WaitQueue::give_up(std::uint64_t caller) {
  const auto found = queued_.find(caller);
  if (found == queued_.end()) return;
  found->second.is_over = true;
  if (found->second.is_asking) return;
  const bool is_first = is_first_everywhere(caller, *found->second.waiter);
  const auto take = [this, is_first](const Waiter& waiter, store::Execution& execution) {
    return is_first ? store_.run(waiter.request(), execution) : answer_out_of_turn(waiter, execution);
  };
  ask(found->second, caller, take, [](const Queued&, const Result<core::Verdict>&) { return true; });
}

// Those before it come first, whatever is left; but somebody else may have asked by the same id meanwhile.
Result<core::Verdict> WaitQueue::answer_out_of_turn(const Waiter& waiter, store::Execution& execution) {
  const auto known = TRY(store_.run(core::Recall{waiter.request()}, execution));
  if (known) return *known;
  auto verdict = TRY(store_.run(core::Take{waiter.charges(), Mode::kPeek}, execution));
  verdict.is_allowed = false;
  verdict.taken = 0;
  return verdict;
}

void WaitQueue::leave(std::uint64_t caller) {
  const auto found = queued_.find(caller);
  if (found == queued_.end()) return;
  const Queued queued = std::move(found->second);
  queued_.erase(found);
  size_.store(queued_.size(), std::memory_order_relaxed);
  loop_.cancel(queued.retry);
  loop_.cancel(queued.deadline);
  for (const std::string& meter : queued.waiter->meters()) {
    const auto queue = queues_.find(meter);
    CHECK(queue != queues_.end());
    queue->second.erase(queued.place);
    if (queue->second.empty()) queues_.erase(queue);
  }
  const auto own = of_source_.find(queued.source);
  if (--own->second == 0) of_source_.erase(own);
  // Not at once: a long line of takes that all fit must not nest.
  if (!queues_.empty()) loop_.post([this, meters = queued.waiter->meters()] { try_first(meters); });
}

void WaitQueue::try_first(std::vector<std::string> meters, std::size_t from) {
  const std::size_t end = std::min(meters.size(), from + kTriedTogether);
  for (; from < end; ++from) {
    const auto queue = queues_.find(meters[from]);
    if (queue != queues_.end()) attempt(queue->second.begin()->second);
  }
  if (from == meters.size()) return;
  loop_.post([this, meters = std::move(meters), from]() mutable { try_first(std::move(meters), from); });
}

Duration WaitQueue::look_again_after(const core::Verdict& denial) const {
  const auto looking_ns = static_cast<std::int64_t>(queues_.size()) * (1'000'000'000 / kLooksPerSecond);
  const Duration looking = Duration::from_ns(looking_ns);
  // A store elsewhere is asked no more often even where something comes back sooner.
  const Duration least = fibers_ != nullptr ? std::max(kRetryMin, looking) : kRetryMin;
  return std::clamp(denial.retry_after, least, std::max(kLookMin, looking));
}

}  // namespace mete::server
