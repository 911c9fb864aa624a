#include "lab/sim/world.h"

#include <cstdio>

namespace mete::sim {

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
