// How often wrong passwords may be tried.
#include "server/doors/guesses.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/doors/doorkeeper.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kStartNs = 1000 * kSecondNs;
constexpr GuessSource kMallory = {0, 1};
constexpr GuessSource kAlice = {0, 2};

GuessSource source_of(const std::string& address) {
  const auto parsed = net::parse_address(address);
  const auto resolved = net::resolve(*parsed);
  return GuessSource::of(resolved->front());
}

// Tries as many different passwords as are looked at, and tells how many that were.
int guess(Guesses& guesses, const GuessSource& source, std::uint64_t now_ns, Credential first = 1,
          int tries_max = 200) {
  for (int tries = 0; tries < tries_max; ++tries) {
    const Credential password = first + static_cast<Credential>(tries) * 2;
    if (guesses.wait(source, password, now_ns) > Duration()) return tries;
    guesses.note_wrong(source, password, now_ns);
  }
  return tries_max;
}

TEST(Guesses, AreAFewAndThenOneASecond) {
  Guesses guesses;
  EXPECT_EQ(guess(guesses, kMallory, kStartNs), 10);
  EXPECT_EQ(guesses.wait(kMallory, 999, kStartNs), Duration(1s));
  EXPECT_EQ(guess(guesses, kMallory, kStartNs + kSecondNs - 1, 1001), 0);
  EXPECT_EQ(guess(guesses, kMallory, kStartNs + kSecondNs, 2001), 1);
  EXPECT_EQ(guess(guesses, kMallory, kStartNs + 6 * kSecondNs, 3001), 5);
  EXPECT_EQ(guess(guesses, kMallory, kStartNs + 100 * kSecondNs, 4001), 10);
}

TEST(Guesses, CostNothingWhereTheyAreTheSameAgain) {
  Guesses guesses;
  for (int tries = 0; tries < 1000; ++tries) {
    ASSERT_EQ(guesses.wait(kMallory, 7, kStartNs), Duration());
    guesses.note_wrong(kMallory, 7, kStartNs);
  }
  EXPECT_EQ(guess(guesses, kMallory, kStartNs, 1001), 9);
}

TEST(Guesses, OfOthersDoNotCount) {
  Guesses guesses;
  guess(guesses, kMallory, kStartNs);
  EXPECT_EQ(guesses.wait(kAlice, 1, kStartNs), Duration());
}

TEST(Guesses, FromManyAddressesAreLimitedInSumAndWhoWasNeverWrongIsNot) {
  Guesses guesses;
  int looked_at = 0;
  for (std::uint64_t address = 10; address < 510; ++address) {
    looked_at += guess(guesses, {0, address}, kStartNs, address * 1000 + 1);
  }
  // Each has one for free, and in sum there are a hundred more.
  EXPECT_GE(looked_at, 500);
  EXPECT_LE(looked_at, 500 + Guesses::kFreeInSum);
  EXPECT_EQ(guesses.wait(kAlice, 1, kStartNs), Duration());
  // Ten seconds later they have 20 a second in sum.
  int later = 0;
  for (std::uint64_t second = 1; second <= 10; ++second) {
    for (std::uint64_t address = 10; address < 510; ++address) {
      later += guess(guesses, {0, address}, kStartNs + second * kSecondNs, address * 1000 + 101 + second * 20, 1);
    }
  }
  EXPECT_LE(later, 500 + 10 * 20 + Guesses::kFreeInSum);
}

TEST(Guesses, AreRememberedForSoManyAddresses) {
  Guesses guesses;
  for (std::uint64_t address = 0; address < 3 * Guesses::kAddressesMax; ++address) {
    guess(guesses, {address + 1, 1}, kStartNs, 1, 1);
  }
  EXPECT_EQ(guesses.addresses(), Guesses::kAddressesMax);
  // New ones share what there is in sum, until those that owe nothing any more make room.
  EXPECT_GT(guesses.wait(kAlice, 1, kStartNs), Duration());
  EXPECT_EQ(guesses.wait(kAlice, 1, kStartNs + 20 * kSecondNs), Duration());
  EXPECT_EQ(guess(guesses, kAlice, kStartNs + 61 * kSecondNs), 10);
  EXPECT_EQ(guesses.addresses(), 1U);
}

TEST(Guesses, CountTheUsersOfAUnixSocket) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const GuessSource own = GuessSource::of_peer(ends[0]);
  EXPECT_EQ(own.low & 0xFFFF'FFFFU, ::getuid());
  EXPECT_FALSE(own == source_of("unix:/a"));
  for (const int end : ends) ::close(end);
}

TEST(Guesses, CountAnIpv6SubscriberAsOne) {
  EXPECT_EQ(source_of("[2001:db8:1:2::1]:80"), source_of("[2001:db8:1:2:ffff::9]:81"));
  EXPECT_FALSE(source_of("[2001:db8:1:2::1]:80") == source_of("[2001:db8:1:3::1]:80"));
  EXPECT_EQ(source_of("127.0.0.1:1"), source_of("127.0.0.1:2"));
  EXPECT_FALSE(source_of("127.0.0.1:1") == source_of("127.0.0.2:1"));
  EXPECT_FALSE(source_of("127.0.0.1:1") == source_of("unix:/a"));
}

TEST(Doorkeeper, LooksAtNoPasswordAfterTooManyWrongOnes) {
  Doorkeeper doorkeeper({.admin = "root", .use = "guest"});
  EXPECT_TRUE(doorkeeper.admit("root", kMallory).is_right());
  for (int tries = 0; tries < Guesses::kFreeOfAddress; ++tries) {
    EXPECT_EQ(doorkeeper.admit("wrong " + std::to_string(tries), kMallory).outcome, Admission::Outcome::kWrong);
  }
  const Admission right = doorkeeper.admit("root", kMallory);
  EXPECT_EQ(right.outcome, Admission::Outcome::kNotLookedAt);
  EXPECT_GT(right.wait, Duration());
  EXPECT_TRUE(doorkeeper.admit("root", kAlice).is_right());
}

TEST(Doorkeeper, HasTwoPasswordsOfARoleWhileOneIsReplaced) {
  Doorkeeper doorkeeper({.admin = "old"});
  const Credential old = doorkeeper.admit("old", kAlice).shown.identity.credential;
  const std::uint64_t before = doorkeeper.generation();
  doorkeeper.replace({.admin = "new\nold", .look = "see"});
  EXPECT_GT(doorkeeper.generation(), before);
  EXPECT_EQ(doorkeeper.admit("new", kAlice).shown.identity.role, Role::kAdmin);
  EXPECT_EQ(doorkeeper.admit("old", kAlice).shown.identity.role, Role::kAdmin);
  EXPECT_EQ(doorkeeper.admit("see", kAlice).shown.identity.role, Role::kLook);
  EXPECT_EQ(doorkeeper.role_of(old), Role::kAdmin);
  doorkeeper.replace({.admin = "new"});
  EXPECT_EQ(doorkeeper.admit("old", kAlice).outcome, Admission::Outcome::kWrong);
  EXPECT_FALSE(doorkeeper.role_of(old).has_value());
  EXPECT_FALSE(doorkeeper.role_of(0).has_value());
  doorkeeper.replace({});
  EXPECT_FALSE(doorkeeper.is_needed());
  EXPECT_EQ(doorkeeper.role_of(0), Role::kAdmin);
}

}  // namespace
}  // namespace mete::server
