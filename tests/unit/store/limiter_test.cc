// Limiter: the forms of its operations, and what value() and allow() make of an error. What must not compile is for
// tests/integration/embed_api_test.py.
#include <gtest/gtest.h>
#include <mete/mete.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace mete {
namespace {

using namespace std::chrono_literals;

class LimiterTest : public ::testing::Test {
 protected:
  LimiterTest() {
    limiter_.define(stock("credits").amount(10)).value();
    limiter_.define(stock("storage").amount(100)).value();
  }

  Amount used(Text limit) { return limiter_.usage(limit, "alice").value().used; }
  // Held: 4 credits and 40 of storage.
  std::string hold() { return limiter_.hold({{"credits", "alice", 4}, {"storage", "alice", 40}}, 1h).value().id; }

  Limiter limiter_ = open("embedded:").value();
};

TEST_F(LimiterTest, AllowIsTheDecision) {
  EXPECT_TRUE(limiter_.allow("credits", "alice"));
  EXPECT_TRUE(limiter_.allow("credits", "alice", 9));
  EXPECT_FALSE(limiter_.allow("credits", "alice"));
  EXPECT_EQ(used("credits"), 10);
}

TEST_F(LimiterTest, AllowThrowsWhatWentWrong) {
  try {
    EXPECT_FALSE(limiter_.allow("nothing", "alice")) << "an unknown limit has no decision";
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error().code, ErrorCode::kNoLimit);
    EXPECT_NE(std::string(failure.what()).find("nothing"), std::string::npos) << failure.what();
  }
  EXPECT_THROW(static_cast<void>(limiter_.allow("credits", "alice", -1)), Failure);
}

TEST_F(LimiterTest, ChargesComeInEveryForm) {
  const std::vector<Charge> list = {{"credits", "alice", 2}};
  const std::array<Charge, 1> array = {{{"credits", "alice", 2}}};
  const std::string limit = "credits";
  const std::function<Decision()> takes[] = {
      [&] { return limiter_.take("credits", "alice", 2).value(); },
      [&] { return limiter_.take(limit, std::string_view("alice"), 2, {.mode = Mode::kTake}).value(); },
      [&] {
        return limiter_.take({{"credits", "alice", 2}}).value();
      },
      [&] { return limiter_.take(list).value(); },
      [&] { return limiter_.take(array).value(); },
  };
  for (const auto& take : takes) {
    EXPECT_EQ(limiter_.peek("credits", "alice", 2).value().remaining, 8);
    EXPECT_EQ(limiter_.peek({{"credits", "alice", 2}}).value().remaining, 8);
    EXPECT_EQ(limiter_.peek(list).value().remaining, 8);
    EXPECT_EQ(take().remaining, 8);
    EXPECT_EQ(limiter_.give("credits", "alice").value().remaining, 9);
    EXPECT_EQ(limiter_.give({{"credits", "alice"}}).value().remaining, 10);
  }
  limiter_.take(list).value();
  EXPECT_EQ(limiter_.give(list).value().remaining, 10);
}

TEST_F(LimiterTest, SeveralChargesInBracesAreSeveralCharges) {
  EXPECT_EQ(limiter_.take({{"credits", "alice"}, {"storage", "alice", 7}}).value().taken, 8);
  EXPECT_EQ(used("credits"), 1);
  EXPECT_EQ(used("storage"), 7);
}

TEST_F(LimiterTest, OneChargeHasTheOptionsOfSeveral) {
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(limiter_.take("credits", "alice", 3, {.id = "take"}).value().remaining, 7);
    EXPECT_EQ(limiter_.give("credits", "alice", 1, "give").value().remaining, 8);
    EXPECT_EQ(limiter_.hold("credits", "alice", 2, 1h, {.id = "hold", .tag = "job"}).value().remaining, 6);
  }
  EXPECT_EQ(used("credits"), 2);
  EXPECT_EQ(limiter_.holds_tagged("job").value(), std::vector<std::string>{"hold"});
}

TEST_F(LimiterTest, ACommitHasItsAmountsInEveryForm) {
  const std::vector<Amount> amounts = {1, 2};
  limiter_.commit(hold(), {1, 2}).value();
  limiter_.commit(hold(), amounts).value();
  limiter_.commit(hold()).value();
  EXPECT_EQ(used("credits"), 1 + 1 + 4);
  EXPECT_EQ(used("storage"), 2 + 2 + 40);
  limiter_.commit(limiter_.hold("credits", "alice", 3, 1h).value().id, 2).value();
  EXPECT_EQ(used("credits"), 8);
}

TEST_F(LimiterTest, ACommitWithOverageHasItsAmountsInEveryForm) {
  const std::vector<Amount> amounts = {5, 1};
  limiter_.commit_with_overage(hold(), amounts).value();
  EXPECT_EQ(limiter_.commit_with_overage(hold(), {7, 1}).error().code, ErrorCode::kExceeds);
  limiter_.reconcile("credits", "alice", 0).value();
  limiter_.commit_with_overage(limiter_.hold("credits", "alice", 1, 1h).value().id, 2).value();
  EXPECT_EQ(used("credits"), 2);
  EXPECT_EQ(used("storage"), 1);
}

TEST_F(LimiterTest, ALoopOverATemporaryResultSeesItsValues) {
  limiter_.take("credits", "a key that is too long to lie within a string", 2).value();
  limiter_.take("credits", "another one, that is too long for it as well", 1).value();
  std::vector<std::string> keys;
  for (const KeyUsage& key : limiter_.top("credits", 2).value()) keys.push_back(key.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a key that is too long to lie within a string",
                                            "another one, that is too long for it as well"}));
}

}  // namespace
}  // namespace mete
