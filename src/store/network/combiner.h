// Combiner: calls that come while enough others are under way wait for one of those to end, and then go together. For
// stores that lie elsewhere: what many calls have in common there (a transaction, a sync of its disk) is paid once for
// all that go together.
//
//     there is room     ──→ the call goes at once, with those that came in the same round of the event loop
//     there is no room  ──→ it waits ──→ a call ends: the first that waits goes, and all the others with it
//
// How many are under way follows from the distance. A server that is near has enough to do with `near`, and more of
// them would only be smaller. While a call is on its way to a server that is far and back, the server could carry out
// distance / work of others: so there are so many more. Those that leave for a server that is far keep a distance from
// each other: what has left together comes back together, and the callers who wait for it ask again together, until all
// of them go round as one crowd, and each waits for what the server needs for all.
//
// Calls that are on the same thing, and would only hinder each other side by side, have the same lane. Those of one
// lane go together, or one after the other. A call without one is a lane of its own.
//
// Thread safety: every call from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/monotonic.h"
#include "net/signal.h"

namespace mete::store {

// `Call` has a number `lane`; 0: none.
template <class Call>
class Combiner {
 public:
  struct Settings {
    std::size_t near = 1;          // under way at a server that is near
    std::size_t far = 64;          // under way at most
    std::size_t together_max = 1;  // lanes whose calls go together, all that wait of each
  };

  explicit Combiner(const Settings& settings) : settings_(settings) {}

  // Has run(calls) called with this call among them, by this caller or by another of them, and returns what that
  // returned. `run`, a function of span<Call* const>, is the same for all, and does not throw.
  template <class Run>
  bool join(Call& call, Run run) {
    Member self{.call = &call};
    std::vector<Member*> others;
    std::vector<Call*> calls = {&call};
    {
      std::unique_lock lock(mutex_);
      if (may_begin() && is_free(call.lane)) {
        begin(self);
      } else {
        waiting_.push_back(&self);
        self.has_changed.wait(lock, net::Deadline::in(Duration::never()), [&] { return self.state != State::kWaits; });
        if (self.state == State::kDone) return self.result;
      }
      const Duration pause = until_departure();
      if (pause > Duration() || net::is_on_fiber()) {
        lock.unlock();
        if (pause > Duration()) {
          net::pause_for(pause);
        } else {
          net::let_others_go_first();
        }
        lock.lock();
      }
      departed_ = base::monotonic_now();
      take_waiting(self, others, calls);
      begin_next();
    }
    const Instant begun = base::monotonic_now();
    const bool result = run(std::span<Call* const>(calls));
    const std::lock_guard guard(mutex_);
    note_work(base::monotonic_now() - begun);
    for (Member* other : others) {
      other->result = result;
      change(*other, State::kDone);
    }
    end(calls);
    begin_next();
    return result;
  }

  // What an answer takes from a server that has nothing else to do.
  void set_distance(Duration distance) {
    const std::lock_guard guard(mutex_);
    distance_ = distance;
  }
  // Calls that nobody has taken along yet.
  [[nodiscard]] std::size_t waiting() const {
    const std::lock_guard guard(mutex_);
    return waiting_.size();
  }

 private:
  enum class State : std::uint8_t { kWaits, kLeads, kDone };

  struct Member {
    Call* call = nullptr;
    State state = State::kWaits;
    bool result = false;
    net::Signal has_changed = {};
  };

  // With mutex_ locked, all of these.
  static void change(Member& member, State state) {
    member.state = state;
    member.has_changed.notify_one();
  }

  // Some runs are slower by chance, such as the first one of a connection: eight of them make the figure.
  void note_work(Duration took) {
    constexpr std::int64_t kMemory = 8;
    constexpr std::int64_t kNsMin = 10'000;
    const std::int64_t ns = std::max(took.ns() - distance_.ns(), kNsMin);
    work_ns_ += work_ns_ == 0 ? ns : (ns - work_ns_) / kMemory;
  }

  [[nodiscard]] std::size_t room() const {
    const std::int64_t on_the_way = work_ns_ == 0 ? 0 : distance_.ns() / work_ns_;
    return std::min(settings_.near + static_cast<std::size_t>(on_the_way), std::max(settings_.far, settings_.near));
  }

  [[nodiscard]] Duration until_departure() const {
    constexpr std::int64_t kDeparturesPerDistance = 32;
    constexpr std::int64_t kGapNsMin = 200'000;  // What is less than that is made by the work itself.
    const std::int64_t gap_ns = distance_.ns() / kDeparturesPerDistance;
    if (gap_ns < kGapNsMin || under_way_ == 1) return {};
    const std::int64_t since_ns = (base::monotonic_now() - departed_).ns();
    return Duration::from_ns(std::max<std::int64_t>(gap_ns - since_ns, 0));
  }

  [[nodiscard]] bool is_free(std::uint64_t lane, const Member* but_for = nullptr) const {
    const auto found = busy_.find(lane);
    return lane == 0 || found == busy_.end() || found->second == but_for;
  }

  // Whoever begins takes along those who come until it has left: until then nobody else begins.
  [[nodiscard]] bool may_begin() const { return !is_gathering_ && under_way_ < room(); }

  void begin(Member& leader) {
    ++under_way_;
    is_gathering_ = true;
    if (leader.call->lane != 0) busy_[leader.call->lane] = &leader;
  }

  void take_waiting(Member& leader, std::vector<Member*>& others, std::vector<Call*>& calls) {
    is_gathering_ = false;
    std::size_t lanes = 1;
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      Member& member = **each;
      const std::uint64_t lane = member.call->lane;
      const bool is_new = lane == 0 || !busy_.contains(lane);
      if (!is_free(lane, &leader) || (is_new && lanes == settings_.together_max)) {
        ++each;
        continue;
      }
      if (is_new) ++lanes;
      if (lane != 0) busy_[lane] = &leader;
      others.push_back(&member);
      calls.push_back(member.call);
      each = waiting_.erase(each);
    }
  }

  void end(std::span<Call* const> calls) {
    --under_way_;
    for (const Call* call : calls) busy_.erase(call->lane);
  }

  // The first that waits and may go, if there is room: it takes the others along.
  void begin_next() {
    if (!may_begin()) return;
    const auto next = std::ranges::find_if(waiting_, [this](const Member* each) { return is_free(each->call->lane); });
    if (next == waiting_.end()) return;
    Member& leader = **next;
    waiting_.erase(next);
    begin(leader);
    change(leader, State::kLeads);
  }

  const Settings settings_;
  mutable std::mutex mutex_;
  Duration distance_;         // under mutex_, as all below
  std::int64_t work_ns_ = 0;  // of a run, beyond the distance; 0: none has ended
  Instant departed_;          // the latest
  std::size_t under_way_ = 0;
  bool is_gathering_ = false;                              // one of them, that has not left yet
  std::unordered_map<std::uint64_t, const Member*> busy_;  // lanes, and who leads their calls
  std::list<Member*> waiting_;                             // those that nobody has taken along
};

}  // namespace mete::store
