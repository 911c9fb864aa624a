// Meters: the meters, overrides and held parts of the keyspace, and how they follow their limit and their time.
//
// Opening a meter brings it up to date: it is rebased if its limit was redefined, its holds that are due expire, and
// its windows pass. Only then its state is looked at. All three are time passing, not the operation's doing, so they
// stay even if the operation is denied.
//
// Thread safety: every call but address() wants the lock of the meter's bucket.
#pragma once

#include <mete/result.h>

#include "base/check.h"
#include "base/hash.h"
#include "engine/meter_access.h"
#include "engine/records/recorder.h"
#include "engine/time_floor.h"

namespace mete::engine {

// Where a meter is to be found.
struct MeterHash {
  std::uint64_t of_name = 0;   // the limit's
  std::uint64_t of_meter = 0;  // of limit and key
};

class Meters {
 public:
  struct Parts {
    MemoryGauge& memory;
    Keyspace& keyspace;
    const LimitTable& limits;
    RuleTable& rules;
    TimeFloor& floor;
    const Recorder& recorder;
  };

  Meters(const Parts& parts, std::uint64_t seed)
      : memory_(parts.memory),
        keyspace_(parts.keyspace),
        limits_(parts.limits),
        rules_(parts.rules),
        floor_(parts.floor),
        recorder_(parts.recorder),
        seed_(seed) {}

  [[nodiscard]] std::uint64_t hash_of_name(std::string_view limit) const { return base::hash_bytes(limit, seed_); }
  // Neither hash waits for the other.
  [[nodiscard]] std::uint64_t hash_of(std::uint64_t name_hash, std::string_view key) const {
    return base::hash_bytes(key, seed_) + name_hash * 0x9e3779b97f4a7c15;
  }
  [[nodiscard]] MeterHash hash_of(const Charge& charge) const {
    const std::uint64_t name_hash = hash_of_name(charge.limit);
    return {name_hash, hash_of(name_hash, charge.key)};
  }
  // Where the meter of a charge is to be found, not opened yet.
  void address(const Charge& charge, MeterAccess& meter) const {
    meter.limit_name = charge.limit;
    meter.key = charge.key;
    const MeterHash hash = hash_of(charge);
    meter.name_hash = hash.of_name;
    meter.hash = hash.of_meter;
  }

  // False if there is no such limit.
  [[nodiscard]] bool open(MeterAccess& meter, Instant now) {
    meter.limit = limits_.find(meter.limit_name, meter.name_hash);
    if (meter.limit == nullptr) return false;
    meter.rule = meter.limit->rule;
    meter.entry = keyspace_.find(meter.hash, {EntryType::kMeter, meter.limit->number}, meter.key);
    if (meter.entry != nullptr && meter.limit->is_plain(*meter.entry)) {
      meter.state = load_state(*meter.entry);
    } else {
      open_special(meter, now);
    }
    meter.moment = meter.rule->moment(meter.state, now);
    core::settle(meter.rule->rule(), meter.state, meter.moment);
    return true;
  }
  // The meter to which a meter, override or held-parts entry belongs; none if its limit is just being dropped.
  [[nodiscard]] std::optional<MeterAccess> open(const Entry& entry, Instant now);
  // For each entry of a redefined limit, in any order: a meter takes its override along; one without a meter goes
  // alone.
  void bring_up_to_date(const Entry& entry, Instant now);

  // Makes sure that the meter has an entry to write to; false if the memory ceiling is reached.
  [[nodiscard]] bool make_entry(MeterAccess& meter) { return meter.entry != nullptr || insert_entry(meter); }
  static void write(const MeterAccess& meter) { store_state(meter.state, *meter.entry); }

  [[nodiscard]] static core::State load_state(const Entry& entry) {
    core::State state{core::State::Undefined()};
    copy_words(&state, entry.payload(), entry.payload_size);
    return state;
  }
  static void store_state(const core::State& state, Entry& entry) {
    copy_words(entry.payload(), &state, entry.payload_size);
  }

  // Sets, changes or (no amount) removes an override; false if the memory ceiling is reached.
  [[nodiscard]] bool set_override(MeterAccess& meter, std::optional<Amount> amount);

  // The meter's parts, made if it has none; null if the memory ceiling is reached. The meter must have an entry.
  [[nodiscard]] HeldParts* make_parts(MeterAccess& meter);
  static const OpenPart& add_part(const MeterAccess& meter, const OpenPart& part) {
    return meter.parts->insert(part, meter.rule->rule(), meter.state);
  }
  // The part of an open hold: its key is the hold's expiry and serial number and the charge.
  [[nodiscard]] static const OpenPart& find_part(const MeterAccess& meter, const OpenPart& key);
  // Takes a part out; what it charged is left as it is.
  static void remove_part(const MeterAccess& meter, const OpenPart& key);

  // Makes the meter or override what the change says; of a limit that the meter's hash is for. An error: the state is
  // of another size than its kind's.
  [[nodiscard]] Result<void> restore(const LimitRecord& limit, std::uint64_t hash, const MeterChange& change);
  void restore(const LimitRecord& limit, std::uint64_t hash, const OverrideChange& change);

  // Of a meter that has some.
  [[nodiscard]] const HeldParts& parts_of(const LimitRecord& limit, std::string_view key) const;

  // Erases a held-parts entry that has no parts left.
  void forget_if_empty(Entry& entry);
  // Erases a meter, override or held-parts entry and what it owns.
  void forget(Entry& entry);

 private:
  // Most states are one or two words: less than a call of memcpy.
  static void copy_words(void* to, const void* from, std::size_t bytes) {
    switch (bytes) {
      case 8:
        std::memcpy(to, from, 8);
        return;
      case 16:
        std::memcpy(to, from, 16);
        return;
      case core::kSlidingSmallBytes:
        std::memcpy(to, from, core::kSlidingSmallBytes);
        return;
      default:
        CHECK(bytes == sizeof(core::State));
        std::memcpy(to, from, sizeof(core::State));
    }
  }
  [[nodiscard]] bool insert_entry(MeterAccess& meter);

  // A meter that is new, has an override or held parts, or whose limit was redefined.
  void open_special(MeterAccess& meter, Instant now);
  void catch_up(MeterAccess& meter);
  void catch_up_before_restoring(const LimitRecord& limit, std::uint64_t hash, std::string_view key);
  [[nodiscard]] const core::Rule& rule_of(const LimitRecord& limit, std::uint64_t hash, std::string_view key,
                                          bool is_current) const;
  void restore_parts(Entry& meter, std::uint64_t hash, const MeterChange& change, const core::Rule& rule);
  void outdate_override(const LimitRecord& limit, std::uint64_t hash, std::string_view key);
  void tell_rebased(const MeterAccess& meter) const;
  void expire_parts(MeterAccess& meter, Instant until);
  // So many parts are erased by one operation: some 100 us.
  static constexpr std::size_t kExpiredTogether = 500;
  void rebase(MeterAccess& meter, const RuleRecord& to, Instant at);
  void resize_entry(MeterAccess& meter, std::uint8_t payload_size);
  Entry* resized(std::uint64_t hash, Entry* old, std::uint8_t payload_size);

  MemoryGauge& memory_;
  Keyspace& keyspace_;
  const LimitTable& limits_;
  RuleTable& rules_;
  TimeFloor& floor_;
  const Recorder& recorder_;
  const std::uint64_t seed_;
};

}  // namespace mete::engine
