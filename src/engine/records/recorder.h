// Recorder: tells a sink what the engine's entries became. With no sink, nothing is told and nothing is lost by it.
//
// Every change of an entry is told under the lock of its bucket, so that the sink gets the changes of an entry in their
// order, and those of one operation in one record. What only time does is not told, since time will do it again:
// windows pass, meters become fresh, ids and keys are forgotten. But parts that expire are told: they are taken out of
// a state that is told too.
//
// What need not be safe before it is answered, and concerns one entry alone, is told at most twice in an interval of
// half a second, however often it happens: the first time at once, and for all that follows the entry is marked, and
// told as it is when the interval ends.
//
// Thread safety: every call but start() from any thread.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lock.h"
#include "core/execution.h"
#include "engine/meter_access.h"
#include "engine/records/change.h"
#include "engine/records/change_codec.h"

namespace mete::engine {

// Where records go. Called with the locks of what changed held: it must not wait for anything.
class ChangeSink {
 public:
  ChangeSink() = default;
  ChangeSink(const ChangeSink&) = delete;
  ChangeSink& operator=(const ChangeSink&) = delete;
  virtual ~ChangeSink() = default;

  // kAlways: the answer must not leave before the record is safe. Returns what it has to wait for.
  virtual core::Ticket append(std::string_view record, Durable durable) = 0;
  // An answer is told again: what it rests on must be safe before it leaves.
  [[nodiscard]] virtual core::Ticket last_awaited() const = 0;
};

class Recorder {
 public:
  // Before the first operation. The sink must outlive the engine.
  void start(ChangeSink& sink) { sink_ = &sink; }

  // From now on nothing can be recorded, so nothing that must be may happen.
  void fail(Error why) {
    const std::lock_guard guard(failure_lock_);
    failure_ = std::move(why);
    is_failed_.store(true, std::memory_order_release);
  }
  // From now on it can again. What has happened meanwhile is recorded with the next change of each entry.
  void resume() { is_failed_.store(false, std::memory_order_release); }
  [[nodiscard]] bool is_failed() const { return is_failed_.load(std::memory_order_acquire); }
  // The last one.
  [[nodiscard]] Error failure() const {
    const std::lock_guard guard(failure_lock_);
    return failure_;
  }

  [[nodiscard]] bool is_on() const { return sink_ != nullptr; }

  // What the answer has to wait for.
  core::Ticket append(const Encoder& record, Durable durable) const {
    return record.is_empty() ? 0 : sink_->append(record.view(), durable);
  }
  template <class Change>
  core::Ticket tell(const Change& change, Durable durable) const {
    if (!is_on()) return 0;
    Encoder record;
    write_change(record, change);
    return append(record, durable);
  }
  // Of an answer that is told again.
  [[nodiscard]] core::Ticket last_awaited() const { return is_on() ? sink_->last_awaited() : 0; }

  // A take of one charge: nearly everything that happens.
  core::Ticket tell_take(const LimitRecord& limit, Entry& meter, std::uint64_t hash) const {
    switch (limit.definition.durability()) {
      case Durable::kAlways:
        return tell(change_of(limit, meter), Durable::kAlways);
      case Durable::kEverySecond:
        tell_soon(meter, hash, [&] { return change_of(limit, meter); });
        return 0;
      case Durable::kNever:
        return 0;
    }
    __builtin_unreachable();
  }
  // Wants the lock of the entry's bucket.
  template <class MakeChange>
  void tell_soon(Entry& entry, std::uint64_t hash, MakeChange make_change) const {
    if ((entry.flags & kIsUnrecorded) != 0) return;
    // After fifteen intervals their numbers come again: then an entry is marked that might have been told at once.
    const std::uint8_t interval = interval_.load(std::memory_order_relaxed);
    if ((entry.flags & kIntervalMask) != interval) {
      entry.flags = static_cast<std::uint8_t>((entry.flags & ~kIntervalMask) | interval);
      tell(make_change(), Durable::kEverySecond);
    } else if (!is_failed()) {
      mark(entry, hash);
    }
  }
  // Begins an interval, and returns the hashes of the entries that were marked in the last one. Whoever calls this
  // tells of them, and takes their marks away.
  [[nodiscard]] std::vector<std::uint64_t> next_interval() {
    const auto next = static_cast<std::uint8_t>(interval_.load(std::memory_order_relaxed) + kIntervalUnit);
    interval_.store(next > kIntervalMask ? kIntervalUnit : next, std::memory_order_relaxed);
    std::vector<std::uint64_t> hashes;
    const std::lock_guard guard(unrecorded_lock_);
    hashes.swap(unrecorded_);
    return hashes;
  }

  // What a meter's entry became, without its parts.
  static MeterChange change_of(const LimitRecord& limit, const Entry& meter) {
    return {.generation = limit.generation,
            .is_even = (meter.flags & kEvenRevision) != 0,
            .key = meter.key(),
            .state = {meter.payload(), meter.payload_size}};
  }
  // The same for a meter that may have no entry (any more).
  static MeterChange change_of(const MeterAccess& meter) {
    if (meter.entry != nullptr) return change_of(*meter.limit, *meter.entry);
    return {.generation = meter.limit->generation, .is_even = meter.limit->is_even, .key = meter.key, .state = {}};
  }
  static PartChange change_of(const OpenPart& part) {
    PartChange change;
    static_cast<core::HeldPart&>(change) = static_cast<const core::HeldPart&>(part);
    change.serial = part.serial;
    change.charge = part.charge;
    change.id = part.id;
    return change;
  }
  // Calls use() with a meter's change and every part, in so many pieces that none is too long for a record.
  template <class Use>
  static void with_parts(MeterChange change, const HeldParts& parts, Use use) {
    for (const OpenPart& part : parts) {
      change.added.push_back(change_of(part));
      if (change.added.size() < kPartsTogether) continue;
      use(change);
      change.added.clear();
    }
    use(change);
  }

 private:
  static constexpr std::size_t kPartsTogether = 10'000;  // some two megabytes

  void mark(Entry& entry, std::uint64_t hash) const {
    entry.flags |= kIsUnrecorded;
    const std::lock_guard guard(unrecorded_lock_);
    unrecorded_.push_back(hash);
  }

  std::atomic<std::uint8_t> interval_{kIntervalUnit};  // from kIntervalUnit to kIntervalMask; 0 is no interval's
  ChangeSink* sink_ = nullptr;
  mutable base::Lock unrecorded_lock_;
  mutable std::vector<std::uint64_t> unrecorded_;
  mutable base::Lock failure_lock_;
  Error failure_;  // under failure_lock_
  std::atomic<bool> is_failed_{false};
};

}  // namespace mete::engine
