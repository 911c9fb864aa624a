#include "store/store.h"

#include <gtest/gtest.h>

#include "store/keys.h"

namespace mete::store {
namespace {

// Answers takes, refuses all else, and has no keys.
class Sparse final : public StoreOf<Sparse> {
 public:
  [[nodiscard]] Instant now() const override { return Instant::from_ns(7); }
  int performed = 0;

 private:
  friend class StoreOf<Sparse>;

  template <class What>
  requires(!core::kIsOnKeys<What>) Result<typename What::Answer> perform(const What& /*operation*/) {
    ++performed;
    return Error{ErrorCode::kUnavailable, "it is away"};
  }
  Result<core::Verdict> perform(const core::Take& take, Execution& execution) {
    ++performed;
    execution.note(static_cast<Ticket>(take.charges[0].cost));
    return core::Verdict{.is_allowed = true, .taken = take.charges[0].cost};
  }
};

TEST(Store, WhatIsNotValidNeverReachesTheAdapter) {
  Sparse store;
  const Charge nameless{"", "k"};
  EXPECT_EQ(store.take({.charges = {&nameless, 1}}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store.commit({.id = ""}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store.usage({"limit", ""}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store.performed, 0);
  EXPECT_EQ(store.usage({"limit", "key"}).error().message, "it is away");
  EXPECT_EQ(store.performed, 1);
}

TEST(Store, WithoutKeysRefusesTheirOperations) {
  Sparse store;
  EXPECT_EQ(store.keys().get("k").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store.keys().size().error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store.performed, 0);
}

// The operations of a batch go by its time, and tell the highest of their tickets.
TEST(Store, OperationsShareAnExecution) {
  Sparse store;
  Execution execution = {.now = Instant::from_ns(3), .waits_for_disk = false};
  Caller caller(store, execution);
  EXPECT_EQ(caller.now(), Instant::from_ns(3));
  for (const Amount cost : {2, 5, 4}) {
    const Charge charge{"limit", "key", cost};
    EXPECT_EQ(caller.take({.charges = {&charge, 1}})->taken, cost);
  }
  EXPECT_EQ(execution.ticket, 5U);
  execution.now.reset();
  EXPECT_EQ(caller.now(), Instant::from_ns(7));
}

// One that cannot be done at all is told in the place of each answer; what is not valid, by itself.
TEST(Store, EachPartHasAnAnswer) {
  Sparse store;
  const Charge charges[] = {{"limit", "key", 3}, {"limit", "", 1}};
  Result<core::Verdict> verdicts[2];
  store.take_each({charges, 1}, {verdicts, 1});
  EXPECT_EQ(verdicts[0].error().message, "it is away");
  store.take_each(charges, verdicts);
  EXPECT_EQ(verdicts[0]->taken, 3);
  EXPECT_EQ(verdicts[1].error().code, ErrorCode::kInvalid);
  const Shift shifts[] = {{"key", 1}, {"key", kAmountMax + 1}};
  Result<Shifted> answers[2];
  store.shift({.limit = "limit", .since = {}, .shifts = shifts, .answers = answers});
  EXPECT_EQ(answers[0].error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(answers[1].error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace mete::store
