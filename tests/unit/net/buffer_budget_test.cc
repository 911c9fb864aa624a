// Which connections are cut off when the buffers of all have become too large.
#include "net/buffer_budget.h"

#include <gmock/gmock.h>

#include "unit/net/connection_fixture.h"

namespace mete::net {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kKib = 1024;

class BufferBudgets : public ::testing::Test {
 protected:
  void note(std::uint64_t connection, std::size_t before, std::size_t now) {
    budget.note(set, connection, before * kKib, now * kKib);
  }

  std::vector<std::uint64_t> cut_off;
  BufferBudget budget{[this](const BufferBudget::Victim& victim) { cut_off.push_back(victim.connection); }};
  EventLoop loop;
  ConnectionSet set{loop};
};

TEST_F(BufferBudgets, CutTheLargestOffFirst) {
  budget.set_max(1000 * kKib);
  note(1, 0, 100);
  note(2, 0, 500);
  note(3, 0, 300);
  EXPECT_THAT(cut_off, ElementsAre());
  note(4, 0, 200);
  EXPECT_THAT(cut_off, ElementsAre(2));
  EXPECT_EQ(budget.cut_off(), 1U);
  // While it is on its way out, it is not counted twice, nor are others in its place.
  note(1, 100, 150);
  EXPECT_THAT(cut_off, ElementsAre(2));
  note(2, 500, 0);
  EXPECT_EQ(budget.bytes(), 650 * kKib);
  note(1, 150, 800);
  EXPECT_THAT(cut_off, ElementsAre(2, 1));
}

TEST_F(BufferBudgets, CutNobodyOffWithoutACeiling) {
  note(1, 0, 10'000'000);
  budget.set_max(0);
  note(2, 0, 10'000'000);
  EXPECT_THAT(cut_off, ElementsAre());
}

TEST_F(BufferBudgets, LookForNoSmallOnes) {
  budget.set_max(100 * kKib);
  for (std::uint64_t id = 1; id <= 50; ++id) note(id, 0, 10);
  EXPECT_THAT(cut_off, ElementsAre());
  note(51, 0, 16);
  EXPECT_THAT(cut_off, ElementsAre(51));
}

class CountedConnection : public testing::ConnectionFixture {
 protected:
  CountedConnection() : ConnectionFixture(false) { set.share(budget); }

  BufferBudget budget{[](const BufferBudget::Victim& victim) {
    victim.set->loop().post(
        [victim] { victim.set->with(victim.connection, [](Connection& connection) { connection.close(); }); });
  }};
};

TEST_F(CountedConnection, TellsWhatItKeeps) {
  connect();
  EXPECT_EQ(budget.bytes(), 0U);
  send("echo half a line");
  EXPECT_GT(budget.bytes(), 0U);
  send("\n");
  EXPECT_EQ(receive(), "half a line");
  EXPECT_EQ(budget.bytes(), 0U);
  send("big 100000\n");
  EXPECT_GT(budget.bytes(), 50'000U);
  client.close();
  settle();
  EXPECT_EQ(budget.bytes(), 0U);
}

TEST_F(CountedConnection, IsCutOff) {
  budget.set_max(20'000);
  connect();
  send("big 100000\n");
  settle();
  EXPECT_EQ(set.size(), 0U);
  EXPECT_EQ(budget.cut_off(), 1U);
}

}  // namespace
}  // namespace mete::net
