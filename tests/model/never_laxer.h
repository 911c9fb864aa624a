// NeverLaxer: compares a store that may be stricter than the model, but never laxer: a node that decides from its share
// of a limit.
//
//     NeverLaxer comparison;
//     const auto failure = find_difference(factory, search, std::ref(comparison));
//     EXPECT_FALSE(failure) << *failure;
//     EXPECT_LE(comparison.stricter() * 20, comparison.admissions());
//
// What it compares: whether a take or a hold is admitted, and how much of it; which errors there are; which limits,
// holds and tags; and that a meter never tells more remaining, or less in use, than the model. What it leaves out,
// since a share makes it another: the waits, the remaining of an answer, how much a bucket gets back, and the ids that
// HOLDS lists, among which are the node's draws.
//
// A take that only the model admits is not made in the model, and the history goes on. Where that cannot be, as with
// an id, the history ends. Both are counted.
#pragma once

#include <optional>
#include <string>

#include "model/history.h"

namespace mete::model {

class NeverLaxer {
 public:
  std::optional<Difference> operator()(const History& history, const SubjectFactory& factory);

  [[nodiscard]] int admissions() const { return admissions_; }
  // Of these: those that the model would have made, and the store did not.
  [[nodiscard]] int stricter() const { return stricter_; }

 private:
  struct Compared;
  struct Outcome {
    std::optional<Difference> difference = {};
    bool is_over = false;  // the history cannot go on
  };

  Outcome execute(const Operation& operation, const Compared& compared);
  Outcome admit(const Operation& operation, const Compared& compared);
  static Outcome other(const Operation& operation, const Compared& compared);
  static std::optional<Difference> probe(const Operation& operation, const Compared& compared);

  int admissions_ = 0;
  int stricter_ = 0;
};

}  // namespace mete::model
