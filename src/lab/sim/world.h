// World: what all parts of a simulated cluster share: the true time, what happens when, chance, the trace, and what has
// gone wrong. Thread safety: one thread.
#pragma once

#include <mete/clock.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "lab/sim/random.h"

namespace mete::sim {

// Where simulated time begins: the beginning of an hour.
inline constexpr Instant kEpoch = Instant::from_unix_seconds(1'800'000'000);

using Action = std::function<void()>;

// What happens when. Actions run in the order of their times, and of one time in the order in which they were put in,
// so that a run can be repeated.
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

struct Violation {
  Duration at;  // since the run began
  std::string what;
};

// A line of the trace. What has no node, meter or amount leaves it out.
struct Note {
  std::string_view what;
  int node = -1;
  int meter = -1;
  std::int64_t amount = -1;
};

class World {
 public:
  // `trace`: where every step is told; null: nowhere.
  World(std::uint64_t seed, Instant start, std::ostream* trace)
      : random(seed), clock(start), start_(start), trace_(trace) {}

  [[nodiscard]] Instant now() const { return clock.now(); }
  void note(const Note& note) {
    hash_ = base::hash_bytes(note.what, hash_ ^ now().ns());
    hash_ = base::hash_number(static_cast<std::uint64_t>(note.amount), hash_);
    const std::int64_t place = std::int64_t{note.node} * 1000 + note.meter;
    hash_ = base::hash_number(static_cast<std::uint64_t>(place), hash_);
    if (trace_ != nullptr) write(note);
  }
  // Two runs with the same hash have noted the same.
  [[nodiscard]] std::uint64_t trace_hash() const { return hash_; }

  // Only the first counts: what follows may follow from it.
  void violate(std::string what) {
    if (!violation_) violation_ = {now() - start_, std::move(what)};
  }
  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }

  Random random;
  ManualClock clock;
  Events events{clock};

 private:
  void write(const Note& note) const;

  Instant start_;
  std::ostream* trace_;
  std::uint64_t hash_ = 0;
  std::optional<Violation> violation_;
};

}  // namespace mete::sim
