// DataDirectory: the files behind an embedded store: the journal of its engine and the snapshots that shorten it.
//
//     engine ──record──▶ Journal ──▶ Flusher: written and synced, for all who wait at once
//       ▲                   │ rotate
//       └──── recover ── snapshot + segments behind it ◀── Saver: walks the engine while it works
//
// Opening it recovers: the newest snapshot and the journal behind it make an engine, and from then on everything that
// becomes of the engine's entries goes into the journal.
//
// Ownership: owns the engine that it recovered, its journal and their threads. Borrows the clock and the file system.
// Thread safety: every call from any thread.
#pragma once

#include <mete/limiter.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/strand.h"
#include "engine/engine.h"
#include "journal/file_system.h"
#include "journal/flusher.h"
#include "journal/journal.h"
#include "store/embedded/saver.h"
#include "store/persistence.h"
#include "store/store_clock.h"

namespace mete::store {

struct DataConfig {
  std::string directory;
  journal::FileSystem* files = nullptr;
  // Without threads nothing happens by itself: a wait writes and syncs, and save() is the only snapshot. For tests that
  // must come out the same each time.
  bool has_threads = true;
  std::function<void(const LoadProgress&)> on_load = {};
};

engine::Config engine_config(const Options& options, std::uint64_t seed);

class DataDirectory final : public Persistence, private engine::ChangeSink {
 public:
  static Result<std::unique_ptr<DataDirectory>> open(const DataConfig& config, const Options& options,
                                                     StoreClock& clock);
  ~DataDirectory() override;

  [[nodiscard]] engine::Engine& engine() { return *engine_; }

  [[nodiscard]] Ticket synced() const override { return journal_->synced(); }
  [[nodiscard]] std::optional<Error> failure() const override { return journal_->failure(); }
  void request_sync() override;
  void on_progress(std::function<void()> callback) override;
  Result<void> save() override { return saver_->save(); }
  Result<bool> start_saving() override { return saver_->start_saving(); }
  [[nodiscard]] PersistenceStatus status() const override;

  // Why changes are refused now, by a failure or for want of room; none: they are not.
  [[nodiscard]] std::optional<Error> refusal() const {
    return refuses_.load(std::memory_order_acquire) ? find_refusal() : std::nullopt;
  }
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
  // Waits until the ticket is on disk.
  Result<void> wait(Ticket ticket);
  // Of an answer that rests on what others have done: the highest ticket that anybody had to wait for.
  [[nodiscard]] Ticket last_awaited() const override { return last_awaited_.load(std::memory_order_relaxed); }
  // Keeps whoever appends from outrunning the disk for ever; with no lock held.
  void wait_for_room() {
    if (journal_->is_congested()) journal_->wait_for_room();
  }

 private:
  static constexpr std::size_t kStartBytes = std::size_t{2} << 20;  // a snapshot's head and a new segment

  DataDirectory(DataConfig config, StoreClock& clock);

  Result<void> recover(const Options& options);
  Result<void> start(const Options& options);
  Ticket append(std::string_view record, Durable durable) override;
  void note_progress();
  // Looks how much room there is, and acts by it. The other one with progress_mutex_ locked.
  void look_for_room();
  void look_for_room_locked();
  void note_full();
  [[nodiscard]] bool can_write() const;
  [[nodiscard]] std::optional<Error> find_refusal() const;
  Result<void> wait_on(base::Strand& strand, Ticket ticket);

  const DataConfig config_;
  StoreClock& clock_;
  std::unique_ptr<journal::DirectoryLock> lock_;
  std::unique_ptr<engine::Engine> engine_;
  PersistenceStatus recovered_;
  journal::Continuation continuation_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<journal::Journal> journal_;
  std::atomic<Ticket> last_awaited_{0};
  std::mutex progress_mutex_;
  std::vector<std::pair<base::Strand*, std::uint64_t>> waits_;  // of strands
  std::function<void()> on_progress_;
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> refuses_{false};
  mutable std::mutex room_mutex_;
  std::optional<journal::DiskRoom> room_;  // under room_mutex_, as the next two
  std::optional<journal::Space> space_;
  journal::DiskRoom::Level level_ = journal::DiskRoom::Level::kPlenty;
  bool is_full_ = false;  // what failed did so for want of room, and there is none yet; under progress_mutex_
  std::unique_ptr<journal::Flusher> flusher_;  // these two use all of the above
  std::unique_ptr<Saver> saver_;
};

}  // namespace mete::store
