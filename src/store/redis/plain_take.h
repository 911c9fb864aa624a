// Takes as the short scripts want them told and answer them: those on buckets in their plain form (lua/charge.lua and
// lua/charge_each.lua), and those on windows, calendars and stocks (lua/count_each.lua). Pure.
//
//     PlainCall call;
//     call.begin(floor_us);
//     call.add({.limit = limit, .key = "alice", .charge_us = 36'000});
//     call.write(StoreScript::kCharge, batch);         // and the reply's text is what a PlainAnswer reads
//
// A call is used again and again: begin() keeps the memory. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/client/batch.h"
#include "store/redis/limit_book.h"
#include "store/redis/scripts.h"

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

  // `floor_us`: the earliest time it can be, and not before kPlainEpochUs.
  void begin(std::uint64_t floor_us);
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

class CountCall {
 public:
  // `floor_us`: the earliest time it can be. `now_us`: about what time it is.
  void begin(std::uint64_t floor_us, std::uint64_t now_us);
  // A charge that the limit has called counted.
  void add(const KnownLimit& limit, const Charge& charge);
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  // Adds the call to the batch.
  void write(Batch& batch);

 private:
  std::uint64_t now_us_ = 0;
  std::string numbers_;  // as doubles
  std::vector<std::string> names_;
  std::vector<std::string> heads_;
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

    // Of a bucket: when it was full; 0 if there was none.
    [[nodiscard]] std::uint64_t full_us() const { return number == 0 ? 0 : number / kTenths + kPlainEpochUs; }
  };
  // That of the next meter.
  Value next();

 private:
  static constexpr std::size_t kDigitsMax = 20;

  bool take_sign(char sign);
  std::uint64_t take_number(std::size_t digits_max = kDigitsMax);

  std::string_view rest_;
  bool is_denied_ = false;
  std::uint64_t now_us_ = 0;
};

}  // namespace mete::store::redis
