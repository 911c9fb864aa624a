// SnapshotWalk: everything that an engine keeps, as records to restore it from, while operations go on.
//
//     Engine::SnapshotWalk walk(engine);         // first of all
//     … records of what changes from here on go behind the snapshot …
//     while (walk.next(record)) { write(record.view()); }
//
// Each entry is met once, as it is then, under the lock of its bucket for about a microsecond. Together with every
// record that was told since the walk was made, in order, that gives the engine as it is at the last of them.
//
// Thread safety: a walk belongs to one thread. While it lives no limit's rule changes: whoever redefines one waits.
#pragma once

#include <deque>
#include <mutex>

#include "engine/engine.h"

namespace mete::engine {

class Engine::SnapshotWalk {
 public:
  explicit SnapshotWalk(Engine& engine) : engine_(engine), revisions_(engine.revisions_mutex_) {}

  static constexpr std::size_t kRecordBytes = std::size_t{32} << 10;

  // The next record, which ends with the bucket that makes it so long; false after the last one.
  [[nodiscard]] bool next(Encoder& record, std::size_t record_bytes = kRecordBytes);

  struct Progress {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
  };
  // Whether somebody waits for its end, to redefine a limit.
  [[nodiscard]] bool is_waited_for() const { return engine_.redefiners_waiting_.load(std::memory_order_relaxed) > 0; }
  // How much of the table is behind it.
  [[nodiscard]] Progress progress() const { return {position_.value, Keyspace::Position::kEnd}; }

 private:
  void write_limits(Encoder& record);
  void write_entry(Encoder& record, const Entry& entry);
  void write_with_parts(Encoder& record, const MeterChange& change, const HeldParts& parts);

  Engine& engine_;
  const std::lock_guard<std::mutex> revisions_;
  bool has_limits_ = false;
  Keyspace::Position position_;
  std::deque<Encoder> pieces_;  // records that are ready
};

}  // namespace mete::engine
