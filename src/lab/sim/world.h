// World: what all parts of a simulated cluster share: the true time, what happens when, chance, the trace, and what has
// gone wrong. Thread safety: one thread.
#pragma once

#include <mete/clock.h>

#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "lab/sim/events.h"
#include "lab/sim/random.h"

namespace mete::sim {

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
    hash_ = base::hash_number(static_cast<std::uint64_t>(note.node * 1000 + note.meter), hash_);
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
