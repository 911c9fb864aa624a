#include "engine/records/snapshot_walk.h"

#include "engine/operation.h"

namespace mete::engine {

bool Engine::SnapshotWalk::next(Encoder& record, std::size_t record_bytes) {
  record.clear();
  if (!pieces_.empty()) {
    record = std::move(pieces_.front());
    pieces_.pop_front();
    return true;
  }
  if (!has_limits_) {
    write_limits(record);
    has_limits_ = true;
    if (!pieces_.empty()) return true;
  }
  while (!position_.is_end() && record.size() < record_bytes) {
    position_ = engine_.keyspace_.visit_bucket(position_, [&](const Entry& entry) { write_entry(record, entry); });
  }
  return !record.is_empty();
}

// They come first, however many records they fill: every meter needs its own.
void Engine::SnapshotWalk::write_limits(Encoder& record) {
  const std::lock_guard guard(engine_.definitions_mutex_);
  write_change(record, NumbersChange{engine_.next_generation_, engine_.next_serial_.load()});
  Encoder* piece = &record;
  for (const LimitRecord* limit : engine_.limits_.all()) {
    if (piece->size() >= kRecordBytes) piece = &pieces_.emplace_back();
    write_change(*piece, LimitChange{limit->generation, limit->is_even, limit->changed_at, limit->definition});
  }
}

// A long list of parts goes over several records: the first piece into this one, the others into those after it.
void Engine::SnapshotWalk::write_with_parts(Encoder& record, const MeterChange& change, const HeldParts& parts) {
  bool is_first = true;
  Recorder::with_parts(change, parts, [&](const MeterChange& piece) {
    write_change(is_first ? record : pieces_.emplace_back(), piece);
    is_first = false;
  });
}

void Engine::SnapshotWalk::write_entry(Encoder& record, const Entry& entry) {
  switch (entry.space.type()) {
    case EntryType::kMeter: {
      const LimitRecord* limit = engine_.limits_.at(entry.space.limit());
      if (limit == nullptr) return;  // just being dropped
      const MeterChange change = Recorder::change_of(*limit, entry);
      if ((entry.flags & kHasHeldParts) != 0) {
        write_with_parts(record, change, engine_.meters_.parts_of(*limit, entry.key()));
      } else {
        write_change(record, change);
      }
      break;
    }
    case EntryType::kOverride: {
      const LimitRecord* limit = engine_.limits_.at(entry.space.limit());
      if (limit == nullptr) return;
      write_change(record, OverrideChange{limit->generation, entry.key(), entry.load<OverrideRecord>().amount});
      break;
    }
    case EntryType::kOperation:
      write_operation(record, entry.key(), entry.load<OperationRecord>());
      break;
    case EntryType::kKey:
      write_change(record, Keys::change_of(entry));
      break;
    case EntryType::kHeldParts:  // with their meter
    case EntryType::kTag:        // with its holds
      return;
  }
}

}  // namespace mete::engine
