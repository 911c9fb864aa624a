// ModelMeter: one (limit, key), written straight from docs/semantics.md for being obvious, not fast.
//
// It shares no arithmetic with the engine: a bucket is a fraction with the period as its denominator, a window is the
// list of what was charged and when, and time is 128 bits wide, so that nothing saturates. Calendar periods are those
// of UTC.
#pragma once

#include <mete/limit.h>

#include <optional>
#include <vector>

#include "model/model_sliding.h"

namespace mete::model {

struct WideSpan {
  Wide start = 0;
  Wide end = 0;

  bool operator==(const WideSpan&) const = default;
};

// The numbers of a limit as one key has them.
struct Terms {
  Kind kind = Kind::kStock;
  Wide amount = 0;
  Wide capacity = 0;
  Wide period = 0;
  Unit unit = Unit::kDay;
  int anchor = 0;

  bool operator==(const Terms&) const = default;
};

Terms terms_of(const Limit& limit, std::optional<Amount> override_amount);

// The window or calendar period that holds `at`.
WideSpan span_at(const Terms& terms, Wide at);

// Part of an open hold.
struct OpenPart {
  Amount units = 0;
  Wide made_at = 0;
  Wide expires_at = 0;
};

class ModelMeter {
 public:
  ModelMeter(const Terms& terms, Wide now) : terms_(terms), now_(now) {
    sliding_.set_terms(terms.amount, terms.period);
  }

  void pass_to(Wide now);
  void redefine(const Terms& terms);
  // Whether usage and held parts go on as they are under other terms.
  [[nodiscard]] bool goes_on_under(const Terms& terms) const;

  [[nodiscard]] Amount capacity() const { return static_cast<Amount>(terms_.capacity); }
  // A bucket as one that was never used.
  [[nodiscard]] bool is_fresh() const { return ticks_ == 0; }
  // Whole units, rounded up.
  [[nodiscard]] Amount usage() const;
  [[nodiscard]] Amount remaining() const;
  [[nodiscard]] bool fits(Wide cost) const;
  [[nodiscard]] Duration reset_after() const;
  // By trying: the least wait after which the cost fits, while the parts expire.
  [[nodiscard]] Duration retry_after(Wide cost, const std::vector<OpenPart>& parts) const;
  // How much of a part made then would come back now, rounded up.
  [[nodiscard]] Amount would_come_back(Amount units, Wide made_at) const;
  // The same, rounded down.
  [[nodiscard]] Amount surely_comes_back(Amount units, Wide made_at) const;
  // What a give may return, if `held` of the usage is held.
  [[nodiscard]] Amount givable(Amount held) const;

  void charge(Amount units);
  void come_back(Amount units, Wide made_at);
  void give(Amount units);
  void set_usage(Amount units);

 private:
  struct Entry {
    Wide at;
    Wide units;
  };

  [[nodiscard]] Wide charged_in(const WideSpan& span) const;
  [[nodiscard]] bool fits_at(Wide at, Wide cost, const std::vector<OpenPart>& parts) const;
  [[nodiscard]] Wide ticks_back(Amount units, Wide made_at) const;
  void remove_from_current(Wide units);

  Terms terms_;
  Wide now_;
  [[nodiscard]] Wide ticks_used() const { return ticks_ > 0 ? ticks_ : 0; }

  // Bucket: usage · period. Below zero by less than a unit, for less than a nanosecond after it became full.
  Wide ticks_ = 0;
  std::vector<Entry> entries_;  // window and calendar
  ModelSliding sliding_;
  Wide stock_ = 0;
};

}  // namespace mete::model
