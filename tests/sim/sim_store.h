// A durable store on a simulated disk, without threads: it does everything in the calls, and so the same each time.
#pragma once

#include <mete/clock.h>

#include <memory>
#include <string>

#include "base/try.h"
#include "store/embedded/embedded_store.h"
#include "support/simulated_disk.h"

namespace mete::sim {

inline constexpr Instant kSimStart = Instant::from_unix_seconds(1'700'000'000);
inline const std::string kSimDirectory = "/data";

inline Result<std::unique_ptr<store::EmbeddedStore>> open_store(support::SimulatedDisk& disk, const Clock& clock) {
  return store::EmbeddedStore::open({.directory = kSimDirectory, .files = &disk, .has_threads = false},
                                    {.clock = &clock});
}

// Returns when every operation so far is on disk that has to be.
inline Result<void> wait_for_all(store::Store& store) {
  TRY(store.drop("no limit has this name"));  // its answer waits for all before it

  return {};
}

inline engine::Engine& engine_of(store::EmbeddedStore& store) {
  return dynamic_cast<store::DataDirectory&>(*store.persistence()).engine();
}

// Empty if what is held, used and tagged fits together.
inline std::string problem_of_books(store::EmbeddedStore& store) {
  const engine::Audit audit = engine_of(store).audit(store.now());
  return audit.problems.empty() ? "" : audit.problems.front().text;
}

}  // namespace mete::sim
