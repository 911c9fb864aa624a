// What a node keeps in its data directory.
#include "escrow/nodes/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/simulated_disk.h"

namespace mete::escrow {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class NodeMemoryTest : public ::testing::Test {
 protected:
  NodeMemoryTest() { disk->make_directory("data").value(); }

  std::unique_ptr<support::SimulatedDisk> disk = std::make_unique<support::SimulatedDisk>();
};

TEST_F(NodeMemoryTest, ADirectoryHasOneIdentity) {
  const NodeMemory made = load_memory(*disk, "data").value();
  EXPECT_THAT(made.identity, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(made.remembered, Remembered{});
  EXPECT_EQ(load_memory(*disk, "data").value(), made);
  disk->make_directory("other").value();
  EXPECT_NE(load_memory(*disk, "other").value().identity, made.identity);
}

TEST_F(NodeMemoryTest, WhatIsSavedSurvivesAPowerCut) {
  NodeMemory memory = load_memory(*disk, "data").value();
  memory.remembered = {
      .cluster = (std::int64_t{1} << 52) + 7, .name = "a.b-c", .incarnation = 12, .starts = 15, .beats = 99};
  save_memory(*disk, "data", memory).value();
  disk = disk->cut_power(support::SimulatedDisk::Fate::kDropped, 1);
  EXPECT_EQ(load_memory(*disk, "data").value(), memory);
}

TEST_F(NodeMemoryTest, WhatIsDamagedIsRefusedAndNotReplaced) {
  const std::string identity = "identity 0123456789abcdef0123456789abcdef\n";
  const std::string rest = "cluster 0\nname \nincarnation 0\nstarts 0\nbeats 0\n";
  disk->put("data/node", "mete-node 1\n" + identity + rest);
  EXPECT_TRUE(load_memory(*disk, "data").has_value());
  for (const std::string& text : {
           std::string(),
           std::string("mete-node 1\n"),
           "mete-node 2\n" + identity + rest,
           "mete-node 1\nidentity 0123\n" + rest,
           "mete-node 1\nidentity 0123456789abcdef0123456789abcdeX\n" + rest,
           "mete-node 1\n" + identity + "cluster -1\nname a\nincarnation 0\nstarts 0\nbeats 0\n",
           "mete-node 1\n" + identity + "cluster 1x\nname a\nincarnation 0\nstarts 0\nbeats 0\n",
           "mete-node 1\n" + identity + "cluster 1\nname a b\nincarnation 0\nstarts 0\nbeats 0\n",
           "mete-node 1\n" + identity + "cluster 0\nname a\nincarnation 1\nstarts 1\nbeats 0\n",
           "mete-node 1\n" + identity + "cluster 1\nname a\nincarnation 1\nstarts 1\nbeats 1",
           "mete-node 1\n" + identity + "cluster 0\nname \nincarnation 0\nstarts 1\nbeats 0\n",
           "mete-node 1\n" + identity + "cluster 1\nname a\nincarnation 1\n",
           "mete-node 1\n" + identity + "cluster 1\nname a\nincarnation 1\nstarts 1\n",
           "mete-node 1\n" + identity + "cluster 0\nname \nincarnation 0\nstarts 0\nbeats 1\n",
           "mete-node 1\n" + identity + rest + "more\n",
       }) {
    disk->put("data/node", text);
    const auto memory = load_memory(*disk, "data");
    ASSERT_FALSE(memory.has_value()) << text;
    EXPECT_THAT(memory.error().message, HasSubstr("data/node: it is damaged")) << text;
    EXPECT_EQ(disk->content("data/node"), text);
  }
}

}  // namespace
}  // namespace mete::escrow
