// Events: what happens when. Actions run in the order of their times, and of one time in the order in which they were
// put in, so that a run can be repeated. Thread safety: one thread.
#pragma once

#include <mete/clock.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace mete::sim {

using Action = std::function<void()>;

class Events {
 public:
  // The clock is set to the time of whatever happens.
  explicit Events(ManualClock& clock) : clock_(clock) {}

  [[nodiscard]] Instant now() const { return clock_.now(); }
  void at(Instant time, Action action);
  void after(Duration delay, Action action) { at(now() + delay, std::move(action)); }
  // Does what comes next; false: there is nothing before `end`, and it is that time now.
  bool step(Instant end);

 private:
  struct Event {
    Instant time;
    std::uint64_t sequence;
    Action action;
  };
  static bool is_later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }

  ManualClock& clock_;
  std::uint64_t sequence_ = 0;
  std::vector<Event> heap_;
};

}  // namespace mete::sim
