// What a node tells of its cluster: CLUSTER, INFO cluster and /metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/observation/readings.h"
#include "unit/server/doors/resp/commands_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

escrow::ClusterStatus example() {
  escrow::ClusterStatus status;
  status.cluster = 4503599627370503;
  status.self = {.name = "b", .incarnation = 7, .identity = "1", .address = "b.example:7380"};
  const escrow::Node other{.name = "a", .incarnation = 3, .identity = "2", .address = ""};
  const escrow::Node third{.name = "c", .incarnation = 1, .identity = "3", .address = "c.example:7380"};
  status.nodes = {{.info = {.node = other, .is_self = false}},
                  {.info = {.node = status.self, .is_self = true}},
                  {.info = {.node = third, .is_self = false}, .lag = 25}};
  status.stranded = 6;
  status.shares.shares = {.draws = 11, .denials = 2, .granted = 1000, .returned = 40, .lapsed = 5};
  status.shares.decisions = 900;
  status.shares.local_decisions = 890;
  status.shares.meters = 4;
  status.shares.usable = 60;
  status.shares.outstanding = 75;
  status.counters_refused = 8;
  status.away = {"d", "e"};
  return status;
}

class ClusterCommandsTest : public testing::CommandsTest {};

TEST_F(ClusterCommandsTest, AServerByItselfIsNoNode) {
  expect({
      {"CLUSTER INFO", R"("cluster_enabled:0\r\n")"},
      {"CLUSTER NODES",
       "-ERR This instance has cluster support disabled: set escrow.shared and escrow.node to make it a node"},
      {"INFO cluster", R"("# Cluster\r\ncluster_enabled:0\r\n")"},
  });
  EXPECT_THAT(client.ask("CLUSTER HELP"), HasSubstr("CLUSTER NODES"));
  EXPECT_THAT(prometheus_text(service), Not(HasSubstr("mete_cluster_")));
  EXPECT_THAT(prometheus_text(service), Not(HasSubstr("mete_escrow_")));
}

TEST_F(ClusterCommandsTest, ANodeTellsOfItsSharesAndOfTheOthers) {
  service.cluster_status = example;
  const std::string lines =
      R"(cluster_enabled:0\r\ncluster_state:ok\r\ncluster_halted:\r\ncluster_id:4503599627370503\r\n)"
      R"(cluster_known_nodes:3\r\ncluster_nodes_away:d,e\r\nnode:b\r\nincarnation:7\r\nshares:4\r\nshares_usable:60\r\nshares_outstanding:75\r\n)"
      R"(draws:11\r\ndraws_denied:2\r\nunits_drawn:1000\r\nunits_returned:40\r\nunits_lapsed:5\r\nunits_stranded:6\r\n)"
      R"(counters_refused:8\r\n)"
      R"(escrow_decisions:900\r\nescrow_decisions_local:890\r\n)";
  expect({
      {"CLUSTER INFO", "\"" + lines + "\""},
      {"INFO CLUSTER", R"("# Cluster\r\n)" + lines + "\""},
      {"HELLO 3", ""},
      {"CLUSTER NODES",
       R"([{"name": "a", "incarnation": 3, "address": "", "self": 0, "linked": 0, "lag": -1}, )"
       R"({"name": "b", "incarnation": 7, "address": "b.example:7380", "self": 1, "linked": 0, "lag": -1}, )"
       R"({"name": "c", "incarnation": 1, "address": "c.example:7380", "self": 0, "linked": 1, "lag": 25}])"},
  });
}

TEST_F(ClusterCommandsTest, WhyNothingIsDrawnIsSaid) {
  escrow::ClusterStatus status = example();
  status.is_shared_reachable = false;
  service.cluster_status = [&] { return status; };
  EXPECT_THAT(client.ask("CLUSTER INFO"), HasSubstr(R"(cluster_state:unreachable\r\ncluster_halted:\r\n)"));
  status.halted = "it was\nwiped";
  EXPECT_THAT(client.ask("CLUSTER INFO"), HasSubstr(R"(cluster_state:halted\r\ncluster_halted:it was\\nwiped\r\n)"));
  EXPECT_THAT(prometheus_text(service), HasSubstr("\nmete_cluster_halted 1\n"));
}

TEST_F(ClusterCommandsTest, MetricsOfANode) {
  service.cluster_status = example;
  const std::string text = prometheus_text(service);
  for (const std::string_view line :
       {"mete_cluster_nodes 3", "mete_cluster_incarnation 7", "mete_cluster_halted 0",
        "mete_cluster_peer_linked{node=\"a\"} 0", "mete_cluster_peer_linked{node=\"c\"} 1",
        "mete_cluster_peer_lag{node=\"c\"} 25", "mete_escrow_shares 4", "mete_escrow_usable_units 60",
        "mete_escrow_outstanding_units 75", "mete_escrow_draws_total 11", "mete_escrow_draws_denied_total 2",
        "mete_escrow_drawn_units_total 1000", "mete_escrow_returned_units_total 40", "mete_escrow_lapsed_units_total 5",
        "mete_escrow_stranded_units 6", "mete_escrow_decisions_total{path=\"local\"} 890",
        "mete_escrow_decisions_total{path=\"waited\"} 10"}) {
    EXPECT_THAT(text, HasSubstr("\n" + std::string(line) + "\n"));
  }
  EXPECT_THAT(text, Not(HasSubstr("node=\"b\"")));
}

}  // namespace
}  // namespace mete::server
