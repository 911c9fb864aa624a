// Persistence: what a store that keeps its own files tells and does about them.
//
// Tickets: an operation that must be on disk before it is answered gets one. Mostly it waits for it before it returns;
// whoever serves many clients does not, and sends the answers once synced() has reached their ticket: core/execution.h.
//
// Before the disk is full, changes are refused until there is room again (journal/disk_room.h).
// The first write or sync that fails is the last one: from then on failure() says why, nothing that must reach the disk
// is acknowledged any more, and a restart is the only way out. Reads go on.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/execution.h"
#include "journal/disk_room.h"

namespace mete::store {

using core::Ticket;

struct LoadProgress {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
};

struct PersistenceStatus {
  // The journal.
  std::uint64_t journal_bytes = 0;     // since the last snapshot
  std::uint64_t journal_segments = 0;  // files
  std::uint64_t unsynced_bytes = 0;
  std::uint64_t records_total = 0;  // appended since the start
  std::uint64_t syncs_total = 0;
  std::uint64_t last_sync_us = 0;
  std::optional<Error> failure;
  // The disk; without free_bytes it is not known.
  std::optional<std::uint64_t> free_bytes;
  std::uint64_t reserve_bytes = 0;
  journal::DiskRoom::Level room = journal::DiskRoom::Level::kPlenty;  // kNone: changes are refused
  // Snapshots.
  bool is_saving = false;
  std::uint64_t saving_done = 0;  // buckets of the table, while it is saving
  std::uint64_t saving_total = 0;
  Instant saving_since;
  std::uint64_t saves_total = 0;
  Instant last_save_at;  // the epoch: none yet
  Duration last_save_took;
  std::uint64_t last_save_bytes = 0;
  std::optional<Error> last_save_failure;
  // The start.
  std::uint64_t recovered_records = 0;  // of the journal
  std::uint64_t recovered_snapshot_bytes = 0;
  struct Cut {
    std::string file;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::optional<Cut> cut;  // a tail that was never acknowledged
  Duration recovery_took;
};

class Persistence {
 public:
  Persistence() = default;
  Persistence(const Persistence&) = delete;
  Persistence& operator=(const Persistence&) = delete;
  virtual ~Persistence() = default;

  // Every ticket up to this one is on disk.
  [[nodiscard]] virtual Ticket synced() const = 0;
  // Set once, and never again.
  [[nodiscard]] virtual std::optional<Error> failure() const = 0;
  // Asks that what has been noted so far reaches the disk now. It does not wait.
  virtual void request_sync() = 0;
  // Calls back, on another thread, whenever synced() has grown, and at the failure. It may be set at any time; null:
  // not any more, and when this returns no call is under way.
  virtual void on_progress(std::function<void()> callback) = 0;

  // Writes a snapshot; returns when it is on disk. Where one is being written already, waits for it and writes another.
  virtual Result<void> save() = 0;
  // Begins to write one in the background; false if one is being written already.
  virtual Result<bool> start_saving() = 0;
  [[nodiscard]] virtual PersistenceStatus status() const = 0;
};

}  // namespace mete::store
