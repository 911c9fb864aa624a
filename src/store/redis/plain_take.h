// Takes on buckets in their plain form, as lua/charge.lua wants them told and answers them. Pure.
//
//     PlainCall call;
//     call.begin(floor_us);
//     call.add({.limit = limit, .key = "alice", .charge_us = 36'000});
//     call.write(batch);                               // and the reply's text is what a PlainAnswer reads
//
// A call is used again and again: begin() keeps the memory. Thread safety: none.
#pragma once

#include <mete/limit.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/redis/batch.h"
#include "store/redis/limit_book.h"

namespace mete::store::redis {

// What the times in plain values count from: 2020. Before it there are none.
inline constexpr std::uint64_t kPlainEpochUs = 1'577'836'800'000'000;

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
  // Adds the call to the batch.
  void write(Batch& batch) const;

 private:
  void add_number(std::uint64_t number);

  std::size_t count_ = 0;
  std::string texts_;    // the meters' names and the charges
  std::string numbers_;  // as doubles
  // Where each name and each charge ends in texts_.
  std::array<std::size_t, kChargesMax> name_ends_ = {};
  std::array<std::size_t, kChargesMax> charge_ends_ = {};
};

class PlainAnswer {
 public:
  explicit PlainAnswer(std::string_view text);

  [[nodiscard]] bool is_denied() const { return is_denied_; }
  [[nodiscard]] std::uint64_t now_us() const { return now_us_; }
  // When the next bucket was full before the take; 0 if there was none.
  std::uint64_t next_full_us();

 private:
  std::uint64_t number();

  std::string_view rest_;
  bool is_denied_ = false;
  std::uint64_t now_us_ = 0;
};

}  // namespace mete::store::redis
