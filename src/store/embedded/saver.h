// Saver: writes snapshots of an engine while it works, when the journal has grown, when time has passed, or when
// somebody asks; and removes the journal that a snapshot has made unnecessary.
//
// A snapshot that fails does no harm: the journal is still whole. It is told, and tried again later.
//
// Ownership: borrows what it is given. Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>
#include <mete/result.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "engine/engine.h"
#include "journal/file_system.h"
#include "journal/journal.h"
#include "store/persistence.h"

namespace mete::store {

class Saver {
 public:
  struct Parts {
    engine::Engine& engine;
    journal::Journal& journal;
    journal::FileSystem& files;
    const Clock& clock;
  };
  struct Config {
    std::string directory;
    std::uint64_t seed = 0;
    std::size_t after_bytes = 0;
    Duration every;
    bool has_thread = true;
    // Of the snapshot that the store was recovered from, if there was one.
    Instant last_at;
    std::uint64_t last_bytes = 0;
  };

  Saver(Parts parts, Config config);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  // A snapshot that is being written is given up.
  ~Saver();

  // Writes one, and returns when it is on disk.
  Result<void> save();
  // Begins one in the background; false if there is one under way.
  Result<bool> start_saving();
  // Fills in what it knows.
  void describe(PersistenceStatus& status) const;

 private:
  enum class Pace : std::uint8_t { kGentle, kFull };

  void run();
  [[nodiscard]] bool is_due() const;
  Result<void> save_and_note(Pace pace);
  // Returns its size.
  Result<std::uint64_t> write_snapshot(Pace pace);
  bool rest(std::chrono::nanoseconds length);
  void note_progress(std::uint64_t done, std::uint64_t total);

  const Parts parts_;
  const Config config_;

  std::mutex saving_mutex_;  // held while one is written; locked before mutex_
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  bool is_wanted_ = false;
  PersistenceStatus status_;           // its part about snapshots
  std::uint64_t records_at_last_ = 0;  // how many the journal had then
  Instant tried_at_;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace mete::store
