// Limit: what it says where nothing was said, and the names of its options.
#include <gtest/gtest.h>
#include <mete/limit.h>

namespace mete {
namespace {

TEST(Limit, DurabilityHasADefaultByKind) {
  const struct {
    Limit limit;
    Durable expected;
  } rows[] = {
      {bucket("a"), Durable::kEverySecond}, {window("a"), Durable::kEverySecond}, {sliding("a"), Durable::kEverySecond},
      {calendar("a"), Durable::kAlways},    {stock("a"), Durable::kAlways},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(row.limit.durable(), std::nullopt);
    EXPECT_EQ(row.limit.durability(), row.expected) << to_string(row.limit.kind());
    for (const Durable durable : {Durable::kAlways, Durable::kEverySecond, Durable::kNever}) {
      EXPECT_EQ(Limit(row.limit).durable(durable).durability(), durable);
    }
  }
}

TEST(Limit, FailsClosedOnItsOwnNodeUnlessTold) {
  EXPECT_EQ(stock("a").on_fail(), OnFail::kClosed);
  EXPECT_EQ(stock("a").scope(), Scope::kNode);
  EXPECT_EQ(stock("a").on_fail(OnFail::kOpen).on_fail(), OnFail::kOpen);
  EXPECT_EQ(stock("a").scope(Scope::kEscrow).scope(), Scope::kEscrow);
  EXPECT_NE(stock("a").on_fail(OnFail::kOpen), stock("a"));
}

TEST(Limit, TheOptionsAreCalledAsOnTheWire) {
  EXPECT_EQ(to_string(Durable::kAlways), "always");
  EXPECT_EQ(to_string(Durable::kEverySecond), "everysec");
  EXPECT_EQ(to_string(Durable::kNever), "never");
  EXPECT_EQ(to_string(OnFail::kClosed), "closed");
  EXPECT_EQ(to_string(OnFail::kOpen), "open");
  EXPECT_EQ(to_string(Scope::kNode), "node");
  EXPECT_EQ(to_string(Scope::kShared), "shared");
  EXPECT_EQ(to_string(Scope::kEscrow), "escrow");
}

}  // namespace
}  // namespace mete
