// ModelSliding: what a sliding meter remembers, written straight from docs/semantics.md: a list of charges.
#pragma once

#include <vector>

namespace mete::model {

__extension__ using Wide = __int128;

class ModelSliding {
 public:
  void set_terms(Wide amount, Wide period);

  void pass_to(Wide now);
  void charge(Wide units, Wide now);
  // Takes a charge that was made then out of its place and those behind it, and the rest of it from the oldest.
  void release(Wide units, Wide made_at);
  void give(Wide units);
  // The same charges, after set_terms().
  void replay();

  [[nodiscard]] Wide usage() const;
  // Whether a part that was charged then leaves when it comes back.
  [[nodiscard]] bool counts(Wide made_at, Wide now) const { return made_at + period_ > now; }
  // When nothing will count any more.
  [[nodiscard]] Wide empty_at() const;

 private:
  struct Entry {
    Wide at;
    Wide units;
  };

  [[nodiscard]] Wide place_of(Wide at) const { return has_slots_ ? at / width_ * width_ : at; }
  [[nodiscard]] Wide until(Wide at) const { return at + (has_slots_ ? width_ : 0) + period_; }
  void add(Wide units, Wide at);
  // From the places that begin then or later, the oldest first.
  void take(Wide units, Wide from);
  bool even_two();

  Wide amount_ = 0;
  Wide period_ = 0;
  Wide width_ = 0;    // of a slot
  Wide quantum_ = 0;  // what a slot keeps multiples of, when it is no longer the newest
  Wide quanta_ = 0;   // how many of them the slots before the newest one keep
  bool has_slots_ = false;
  std::vector<Entry> entries_;  // the oldest first; the last one is the newest, even if nothing is left of it
};

}  // namespace mete::model
