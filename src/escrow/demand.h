// Demand: how many units a second a meter is asked for, as of about the last second. Pure. It sizes batches; decisions
// do not depend on it.
#pragma once

#include <mete/limit.h>

namespace mete::escrow {

class Demand {
 public:
  // Whether admitted or not: what is asked for is what a share should have had.
  void add(Amount units, Instant now) {
    if (now - slot_start_ >= kSlot) close_slot(now);
    in_slot_ += units;
    ++asks_in_slot_;
    asked_at_ = now;
  }

  // Whoever has asked once need not ask again.
  [[nodiscard]] bool is_repeated() const { return asks_in_slot_ > 1 || rate_ > 0; }
  // Somebody waits.
  void ask(Instant now) { asked_at_ = now; }

  // What is asked for in that time, if it goes on so.
  [[nodiscard]] Amount within(Duration time, Instant now) const;
  [[nodiscard]] Instant asked_at() const { return asked_at_; }

 private:
  static constexpr Duration kSlot = std::chrono::milliseconds(250);

  void close_slot(Instant now);

  Instant slot_start_;
  Instant asked_at_;
  Amount in_slot_ = 0;
  std::uint64_t asks_in_slot_ = 0;
  Amount rate_ = 0;  // units a second, before the slot
};

}  // namespace mete::escrow
