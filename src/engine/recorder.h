// Recorder: tells a sink what the engine's entries became. With no sink, nothing is told and nothing is lost by it.
//
// Every change of an entry is told under the lock of its bucket, so that the sink gets the changes of an entry in their
// order, and those of one operation in one record. What only time does is not told, since time will do it again:
// windows pass, meters become fresh, ids and keys are forgotten. But parts that expire are told: they are taken out of
// a state that is told too.
//
// Thread safety: every call but start() from any thread.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <atomic>
#include <string_view>
#include <utility>

#include "engine/change.h"
#include "engine/meter_access.h"

namespace mete::engine {

// Where records go. Called with the locks of what changed held: it must not wait for anything.
class ChangeSink {
 public:
  ChangeSink() = default;
  ChangeSink(const ChangeSink&) = delete;
  ChangeSink& operator=(const ChangeSink&) = delete;
  virtual ~ChangeSink() = default;

  // kAlways: the answer must not leave before the record is safe.
  virtual void append(std::string_view record, Durable durable) = 0;
  // An answer is told again: what it rests on must be safe before it leaves.
  virtual void depend() = 0;
};

class Recorder {
 public:
  // Before the first operation. The sink must outlive the engine.
  void start(ChangeSink& sink) { sink_ = &sink; }

  // From now on nothing can be recorded any more, so nothing that must be may happen. Once.
  void fail(Error why) {
    failure_ = std::move(why);
    is_failed_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool is_failed() const { return is_failed_.load(std::memory_order_acquire); }
  // Only after it has failed.
  [[nodiscard]] const Error& failure() const { return failure_; }

  [[nodiscard]] bool is_on() const { return sink_ != nullptr; }

  void append(const Encoder& record, Durable durable) const {
    if (!record.is_empty()) sink_->append(record.view(), durable);
  }
  template <class Change>
  void tell(const Change& change, Durable durable) const {
    if (!is_on()) return;
    Encoder record;
    write_change(record, change);
    append(record, durable);
  }
  void depend() const {
    if (is_on()) sink_->depend();
  }

  // A take on a meter without parts: nearly every record is of this kind.
  [[gnu::noinline]] void tell_plain(const LimitRecord& limit, const Entry& meter) const {
    const Durable durable = limit.definition.durability();
    if (durable == Durable::kNever) return;
    Encoder record;
    write_change(record, change_of(limit, meter));
    append(record, durable);
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
    static_cast<core::HeldPart&>(change) = part;
    change.serial = part.serial;
    change.charge = part.charge;
    change.id = part.id;
    return change;
  }
  // With every part.
  static MeterChange whole_change_of(const MeterAccess& meter) {
    MeterChange change = change_of(meter);
    change.has_all_parts = meter.parts != nullptr;
    if (meter.parts == nullptr) return change;
    for (const OpenPart& part : *meter.parts) change.added.push_back(change_of(part));
    return change;
  }

 private:
  ChangeSink* sink_ = nullptr;
  Error failure_;  // never changed once is_failed_
  std::atomic<bool> is_failed_{false};
};

}  // namespace mete::engine
