#include "lab/sim/world.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <utility>

#include "base/check.h"

namespace mete::sim {

void Events::at(Instant time, Action action) {
  CHECK(time >= now());
  heap_.push_back({time, sequence_++, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end(), is_later);
}

bool Events::step(Instant end) {
  if (heap_.empty() || heap_.front().time >= end) {
    clock_.set(end);
    return false;
  }
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  const Event event = std::move(heap_.back());
  heap_.pop_back();
  clock_.set(event.time);
  event.action();
  return true;
}

void World::write(const Note& note) const {
  char time[32];
  std::snprintf(time, sizeof time, "%12.6f", static_cast<double>((now() - start_).ns()) / 1e9);
  *trace_ << time << "  ";
  if (note.node >= 0) *trace_ << "node " << note.node << "  ";
  *trace_ << note.what;
  if (note.amount >= 0) *trace_ << ' ' << note.amount;
  if (note.meter >= 0) *trace_ << " of meter " << note.meter;
  *trace_ << '\n';
}

}  // namespace mete::sim
