// Takes as the short scripts want them told and answer them: those on buckets in their plain form (lua/charge.lua and
// lua/charge_each.lua), those on windows, calendars and stocks (lua/count_each.lua), and those on sliding windows
// (lua/slide_each.lua). Pure.
//
//     PlainCall call;
//     call.begin(clock.bounds());
//     call.add({.limit = limit, .key = "alice", .charge_us = 36'000});
//     call.write(StoreScript::kCharge, batch);         // and the reply's text is what a PlainAnswer reads
//
// A call is used again and again: begin() keeps the memory. Thread safety: none.
#pragma once

#include <mete/decision.h>
#include <mete/time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/client/batch.h"
#include "store/redis/limit_book.h"
#include "store/redis/scripts.h"
#include "store/remote_clock.h"

namespace mete::store::redis {

// What the times in plain values count from: 2020. Before it there are none.
inline constexpr std::uint64_t kPlainEpochUs = 1'577'836'800'000'000;
// A plain value is in tenths of a microsecond: its last digit is the slot.
inline constexpr std::uint64_t kTenths = 10;

inline constexpr std::size_t kCallMetersMax = 64;  // in one call: Redis does nothing else meanwhile

class PlainCall {
 public:
  struct Meter {
    const KnownLimit& limit;
    std::string_view key;
    std::uint64_t charge_us = 0;  // as KnownLimit::plain_charge_us() tells it
  };

  // Not before kPlainEpochUs.
  void begin(const TimeBounds& bounds);
  void add(const Meter& meter);
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  // Adds the call to the batch.
  void write(StoreScript which, Batch& batch);

 private:
  // Where a meter's name and its charge end in texts_.
  struct Ends {
    std::size_t name = 0;
    std::size_t charge = 0;
  };

  std::string texts_;
  std::string numbers_;  // as doubles
  std::vector<Ends> ends_;
  std::vector<std::string_view> words_;
};

// The meters that a short script has left to the general one a moment ago, since something is held of them, or they
// have an amount of their own: whoever goes to the general one at once makes one call instead of two. The latest of
// them, and each for kKeptFor, so that one that is plain again is found to be so. Thread safety: any thread.
class LongMeters {
 public:
  static constexpr Duration kKeptFor = std::chrono::seconds(1);

  LongMeters();
  void note(std::string_view limit, std::string_view key, Instant now);
  [[nodiscard]] bool has(std::string_view limit, std::string_view key, Instant now) const;

 private:
  static constexpr std::size_t kPlaces = 4096;

  [[nodiscard]] std::uint64_t hash_of(std::string_view limit, std::string_view key) const;

  const std::uint64_t seed_;
  // In each the upper half of a hash, and behind it since when it counts, in milliseconds, which come round.
  std::array<std::atomic<std::uint64_t>, kPlaces> places_{};
};

// Of kCountEach or kSlideEach.
class CountCall {
 public:
  explicit CountCall(StoreScript which) : which_(which) {}

  // `now_us`: about what time it is.
  void begin(const TimeBounds& bounds, std::uint64_t now_us);
  // A charge that the limit has called counted, or sliding.
  void add(const KnownLimit& limit, const Charge& charge);
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  // Adds the call to the batch.
  void write(Batch& batch);

 private:
  const StoreScript which_;
  std::uint64_t now_us_ = 0;
  std::string numbers_;  // as doubles
  std::vector<std::string> names_;
  std::vector<std::string> heads_;
};

// A hold of one charge: lua/hold_one.lua makes it, and lua/close_one.lua ends it.
struct ShortHold {
  const KnownLimit& limit;
  std::string_view key;
  std::string_view id;
  std::string_view tag;
  // What they are called in Redis; of the tag's holds nothing where there is no tag.
  std::string meter_name;
  std::string record_name;
  std::string tag_name;
  TimeBounds bounds;
  std::uint64_t now_us = 0;  // about what time it is
  std::uint64_t retention_us = 0;
  std::uint64_t epoch = 0;

  struct Beginning {
    std::uint64_t ttl_us = 0;
    Amount cost = 0;
    std::string_view fingerprint;
    bool keeps_denial = true;  // as the id's answer
  };
  void write(const Beginning& beginning, Batch& batch) const;

  struct End {
    static constexpr Amount kAll = -1;
    static constexpr Amount kNothing = -2;  // it is cancelled

    std::uint64_t made_us = 0;
    Amount committed = kAll;
  };
  void write(const End& end, Batch& batch) const;

 private:
  void add_call(StoreScript which, std::initializer_list<std::string_view> arguments, Batch& batch) const;
};

class PlainAnswer {
 public:
  explicit PlainAnswer(std::string_view text);

  // The whole take of charge.lua.
  [[nodiscard]] bool is_denied() const { return is_denied_; }
  [[nodiscard]] std::uint64_t now_us() const { return now_us_; }

  struct Value {
    bool is_plain = true;      // where takes are told together: else nothing has happened
    bool is_denied = false;    // where takes are told together
    std::uint64_t number = 0;  // the value before the take, or what was used before; 0 if there was none
    std::string_view state{};  // of a sliding window: as slide_each.lua tells it

    // Of a bucket: when it was full; 0 if there was none.
    [[nodiscard]] std::uint64_t full_us() const { return number == 0 ? 0 : number / kTenths + kPlainEpochUs; }
  };
  // That of the next meter.
  Value next();
  // That of the next sliding window.
  Value next_state();

 private:
  static constexpr std::size_t kDigitsMax = 20;

  bool take_sign(char sign);
  std::uint64_t take_number(std::size_t digits_max = kDigitsMax);

  std::string_view rest_;
  bool is_denied_ = false;
  std::uint64_t now_us_ = 0;
};

}  // namespace mete::store::redis
