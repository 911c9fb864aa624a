// Journal: what the engine did, on disk. Records are appended to a buffer in memory, and a flush writes and syncs what
// has gathered there as one batch.
//
//     const Ticket ticket = journal->append(body);      under the engine's locks: some nanoseconds, no system call
//     journal->flush();                                  whoever comes first writes for all (journal/flusher.h)
//     … journal->synced() >= ticket: it is on disk …
//
// The first write or sync that fails is the last one. Nothing is known about what such a file holds, and trying again
// may succeed without having written anything; so the failure is kept, nothing is acknowledged from then on, and what
// is appended is dropped.
//
// A segment is never continued by another process: each start begins a new one.
//
// Ownership: borrows the FileSystem. It has no thread of its own, and destroying it writes nothing: flush before.
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/lock.h"
#include "base/output.h"
#include "journal/file_system.h"
#include "journal/record.h"
#include "journal/segment_writer.h"
#include "journal/watermark.h"

namespace mete::journal {

// How many bytes had been appended since the start, up to and including a record.
using Ticket = std::uint64_t;

// Where the journal of an earlier process ends: Recovered of journal/recovery.h has it. As it stands: there was none.
struct Continuation {
  std::uint64_t next_segment = 1;
  std::uint64_t previous_length = 0;  // of the segment before it
  std::uint64_t oldest_segment = 1;   // the first that is still needed
  std::uint64_t bytes = 0;            // in those that are still needed
};

class Journal {
 public:
  static constexpr std::size_t kBufferBytesMax = std::size_t{64} << 20;  // above this, callers should wait for room
  static constexpr std::size_t kBacklogBytes = std::size_t{256} << 10;   // worth a write of its own

  struct Config {
    std::string directory;
    std::uint64_t seed = 0;
    std::function<Instant()> now;  // the store's clock: nothing that was appended is of a later time
    Continuation continuation = {};
  };
  struct Counters {
    std::uint64_t bytes = 0;  // in the segments that are needed
    std::uint64_t segments = 0;
    std::uint64_t unsynced_bytes = 0;
    std::uint64_t records_total = 0;  // appended since the start
    std::uint64_t syncs_total = 0;
    std::uint64_t last_sync_us = 0;
  };

  // Begins a new segment.
  static Result<std::unique_ptr<Journal>> start(FileSystem& files, Config config);

  // Appends a record of 1 to kBodyBytesMax bytes; never fails and never waits for the disk.
  Ticket append(std::string_view body);
  // Writes what has been appended, and returns when it is on disk.
  Result<void> flush();
  // As flush(), and notes the time: the last call. The next start goes on from there.
  Result<void> finish();
  // Writes it without waiting for the disk: it outlives the process then, but not the power.
  Result<void> write_out();
  // Flushes and begins a new segment; returns its number. What was appended before the call is in older ones.
  Result<std::uint64_t> rotate();
  // Removes the snapshots and segments that snapshot `number` has made unnecessary. Failing does no harm.
  Result<void> remove_before(std::uint64_t number);

  // Every ticket up to this one is on disk.
  [[nodiscard]] Ticket synced() const { return synced_.load(std::memory_order_acquire); }
  [[nodiscard]] Ticket appended() const { return appended_.load(std::memory_order_relaxed); }
  // Set once, and never again.
  [[nodiscard]] std::optional<Error> failure() const;

  // Appending goes on either way, but memory has its end. Call wait_for_room with no lock held.
  [[nodiscard]] bool is_congested() const { return waiting_bytes() >= kBufferBytesMax; }
  void wait_for_room();
  // Called by whoever appends, under its locks, each time that kBacklogBytes have gathered. Set before the first
  // append.
  void on_backlog(std::function<void()> callback) { on_backlog_ = std::move(callback); }

  [[nodiscard]] Counters counters() const;

 private:
  Journal(FileSystem& files, Config config, Watermark watermark);

  [[nodiscard]] std::uint64_t waiting_bytes() const {
    // In this order: what is taken was appended before.
    const Ticket taken = taken_.load(std::memory_order_acquire);
    return appended_.load(std::memory_order_acquire) - taken;
  }
  Result<void> begin_segment(std::uint64_t number, std::uint64_t previous_length);
  Result<void> write_batch(SegmentWriter::SyncFollows sync_follows);
  Result<void> write_taken(SegmentWriter::SyncFollows sync_follows);
  [[nodiscard]] bool wants_mark(Instant now) const;
  Result<void> sync_segment();
  Ticket take_buffer();
  Result<void> seal_and_begin();
  // Does it unless there was a failure before; the first failure is kept.
  template <class Step>
  Result<void> attempt(const Step& step);
  void keep(const Error& failure);

  FileSystem& files_;
  const Config config_;
  const Framing framing_;
  std::function<void()> on_backlog_;

  // What appending touches, under lock_.
  base::Lock lock_;
  bool is_dropping_ = false;
  base::Output filling_;  // begins with room for a mark
  std::atomic<Ticket> appended_{0};
  std::atomic<std::uint64_t> records_total_{0};

  // What flushing touches, under flush_mutex_. Locked before lock_.
  std::mutex flush_mutex_;
  base::Output writing_;
  std::unique_ptr<SegmentWriter> segment_;
  std::uint64_t marked_at_ = 0;  // the end of the last mark in the segment; 0: it has none
  Instant marked_time_;
  bool is_finishing_ = false;
  Watermark watermark_;
  std::atomic<Ticket> taken_{0};  // from filling_
  std::atomic<Ticket> synced_{0};

  mutable std::mutex status_mutex_;  // innermost
  std::optional<Error> failure_;
  std::uint64_t syncs_total_ = 0;
  std::uint64_t last_sync_us_ = 0;
  std::uint64_t oldest_segment_;
  std::uint64_t newest_segment_ = 0;
  std::uint64_t bytes_;  // in all segments, from those of the continuation on
  std::uint64_t bytes_removed_ = 0;
  std::map<std::uint64_t, std::uint64_t> bytes_before_;  // what bytes_ was when each segment was begun
};

}  // namespace mete::journal
