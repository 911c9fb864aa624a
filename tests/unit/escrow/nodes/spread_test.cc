// Nodes in stores whose keys are spread over several servers: all that belongs to the cluster lies on one of them.
#include <gtest/gtest.h>

#include "escrow/nodes/registry.h"
#include "serving/mete_server.h"
#include "store/embedded/embedded_store.h"
#include "store/open.h"
#include "support/redis_cluster.h"

namespace mete::escrow {
namespace {

Joining joining(store::Store& store, std::string name, std::string identity) {
  return {store, {.name = std::move(name), .identity = std::move(identity), .address = "h.example:7380"}};
}

// Everything but silence, which takes seconds here.
void expect_a_cluster(const std::string& url) {
  const auto store = store::open_store(url, {}).value();
  std::vector<Registry> nodes;
  for (const std::string name : {"a", "b", "c", "d"}) {
    nodes.push_back(joining(*store, name, "directory of " + name).attempt().value().value());
    EXPECT_EQ(nodes.back().remembered(), (Remembered{nodes.front().remembered().cluster, name, 1}));
  }
  for (Registry& node : nodes) {
    EXPECT_EQ(node.refresh(), Membership::kMember);
    EXPECT_EQ(node.nodes().size(), 4U);
  }
  EXPECT_EQ(joining(*store, "a", "another").attempt().error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(joining(*store, "e", "directory of b").attempt().value().has_value());
  nodes[2].leave().value();
  EXPECT_EQ(nodes[0].refresh(), Membership::kMember);
  EXPECT_EQ(nodes[0].nodes().size(), 3U);
  EXPECT_EQ(joining(*store, "c", "directory of c").attempt().value().value().self().incarnation, 2);
}

TEST(NodesOfSpreadStores, SeveralMeteServers) {
  std::vector<std::unique_ptr<serving::MeteServer>> servers;
  std::string url = "mete://";
  for (int number = 0; number < 3; ++number) {
    servers.push_back(std::make_unique<serving::MeteServer>(std::make_unique<store::EmbeddedStore>(Options{})));
    url += (number == 0 ? "" : ",") + servers.back()->host();
  }
  expect_a_cluster(url);
}

TEST(NodesOfSpreadStores, ARedisCluster) {
  const support::RedisCluster cluster;
  expect_a_cluster(cluster.url());
}

}  // namespace
}  // namespace mete::escrow
