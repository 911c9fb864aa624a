// A node's registration from start to stop, with what it remembers on disk.
#include "escrow/nodes/registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/embedded/embedded_store.h"
#include "support/simulated_disk.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class PlaceTest : public ::testing::Test {
 protected:
  PlaceTest() { disk.make_directory("data").value(); }

  Result<std::unique_ptr<Registration>> take(std::string name, std::string directory = "data") {
    return Registration::take(store, {.name = std::move(name),
                                      .address = "h.example:1",
                                      .directory = std::move(directory),
                                      .files = &disk,
                                      .wait = [this](Duration step) {
                                        clock.advance(step);
                                        ++waits;
                                        if (while_waiting) while_waiting();
                                      }});
  }

  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};
  store::EmbeddedStore store{{.clock = &clock}};
  support::SimulatedDisk disk;
  std::function<void()> while_waiting;
  int waits = 0;
};

TEST_F(PlaceTest, AStopGivesItBackAndTheNextStartRemembers) {
  const ClusterNumber cluster = take("a").value()->cluster();
  const auto again = take("a").value();
  EXPECT_EQ(again->self().incarnation, 2);
  EXPECT_EQ(again->cluster(), cluster);
  EXPECT_EQ(waits, 0);
  EXPECT_EQ(load_memory(disk, "data").value().remembered, (Remembered{cluster, "a", 2, 2}));
  EXPECT_EQ(again->nodes().size(), 1U);
}

TEST_F(PlaceTest, AKilledOneIsWaitedForAndACopyIsRefused) {
  const auto first = take("a").value();
  const auto successor = take("a").value();
  EXPECT_EQ(waits, 2);
  EXPECT_THAT(first->confirm().error().message, HasSubstr("has come in the place of"));
  while_waiting = [&] { EXPECT_TRUE(successor->confirm().has_value()); };
  EXPECT_THAT(take("a").error().message, HasSubstr("from a copy of it"));
  EXPECT_TRUE(successor->confirm().has_value());
}

TEST_F(PlaceTest, OfSeveralCopiesOnlyTheOneStartedLastMayStartAgain) {
  take("a").value();
  disk.make_directory("copy").value();
  disk.put("copy/node", disk.content("data/node"));
  take("b", "copy").value();
  EXPECT_THAT(take("a").error().message, HasSubstr("from a copy of this data directory"));
  EXPECT_THAT(take("b").error().message, HasSubstr("from a copy of this data directory"));
  EXPECT_TRUE(take("a", "copy").has_value());
  EXPECT_TRUE(take("b", "copy").has_value());
}

TEST_F(PlaceTest, WithoutADiskItIsAnotherNodeEachTime) {
  const auto first = take("a", "").value();
  EXPECT_THAT(take("a", "").error().message, HasSubstr("another node 'a'"));
  EXPECT_EQ(disk.paths().size(), 0U);
}

TEST_F(PlaceTest, AWipedStoreIsAnErrorUntilTheFileIsGone) {
  auto registration = take("a").value();
  store.clear().value();
  EXPECT_EQ(registration->lost(), std::nullopt);
  EXPECT_THAT(registration->confirm().error().message, HasSubstr("It was wiped"));
  EXPECT_THAT(registration->lost()->message, HasSubstr("It was wiped"));
  EXPECT_THAT(registration->confirm().error().message, HasSubstr("It was wiped"));
  registration.reset();
  EXPECT_THAT(take("a").error().message, HasSubstr("remove the file 'node'"));
  disk.remove("data/node").value();
  EXPECT_EQ(take("a").value()->self().incarnation, 1);
}

TEST_F(PlaceTest, AStartNoticesThatTheStoreHasForgottenSignsOfLife) {
  {
    const auto registration = take("a").value();
    for (int beat = 0; beat < 25; ++beat) EXPECT_TRUE(registration->confirm().has_value());
    EXPECT_EQ(load_memory(disk, "data").value().remembered.beats, 20) << "not each of them is written";
  }
  EXPECT_EQ(load_memory(disk, "data").value().remembered.beats, 25) << "but the last one is";
  const Charge forgotten{"mete.nodes", "{mete}beat:a", 1};
  store.give({&forgotten, 1}, {}).value();
  EXPECT_THAT(take("a").error().message, HasSubstr("it knows of 24 signs of life of node 'a', and there were 25"));
}

TEST_F(PlaceTest, WhatCannotBeRememberedIsNotTaken) {
  load_memory(disk, "data").value();
  int failures = 0;
  Incarnation last = 0;
  for (std::uint64_t call = 1;; ++call, ++failures) {
    disk.fail_call(disk.calls() + call, support::SimulatedDisk::Failure::kInputOutput);
    const auto registration = take("a");
    if (!registration) continue;
    last = (*registration)->self().incarnation;
    break;
  }
  EXPECT_GT(last, 2) << "some of the " << failures << " failures came after the name had been taken";
  EXPECT_EQ(waits, 0) << "and each gave it back at once";
}

}  // namespace
}  // namespace mete::escrow
