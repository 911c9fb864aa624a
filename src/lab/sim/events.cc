#include "lab/sim/events.h"

#include <algorithm>
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

}  // namespace mete::sim
