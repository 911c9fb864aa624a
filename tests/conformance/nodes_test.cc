// The nodes of a cluster stand in the store that they share: in each store in the same way.
#include "conformance/fixture.h"
#include "escrow/nodes/registry.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;
using escrow::Joining;
using escrow::Registry;

std::size_t count_named(const Registry& registry, const std::vector<std::string>& names) {
  std::size_t count = 0;
  for (const escrow::NodeInfo& each : registry.nodes()) {
    for (const std::string& name : names) count += each.node.name == name && !each.node.address.empty() ? 1U : 0U;
  }
  return count;
}

TEST_P(Conformance, NodesJoinAreTakenOverAndNoticeAWipedStore) {
  if (GetParam().name == "durable") GTEST_SKIP() << "that world opens another store whenever time passes";
  const std::string a = unique("a");
  const std::string b = unique("b");
  const auto node = [&](const std::string& name, const std::string& identity) {
    return Joining(world().store(), {.name = name, .identity = unique(identity), .address = "h.example:7380"});
  };
  Registry first = node(a, "1").attempt().value().value();
  Registry second = node(b, "2").attempt().value().value();
  EXPECT_EQ(first.refresh().value(), escrow::Membership::kMember);
  EXPECT_EQ(count_named(first, {a, b}), 2U);
  EXPECT_EQ(count_named(second, {a, b}), 2U);
  EXPECT_EQ(first.self().incarnation, 1);
  EXPECT_EQ(first.remembered().cluster, second.remembered().cluster);
  expect_error(node(a, "3").attempt(), ErrorCode::kInvalid, "another node '" + a + "' (incarnation 1, at h.example");

  // Killed and started again, on the same directory.
  Joining again = node(a, "1");
  EXPECT_FALSE(again.attempt().value().has_value());
  advance(2s);
  EXPECT_EQ(second.refresh().value(), escrow::Membership::kMember);
  Registry successor = again.attempt().value().value();
  EXPECT_EQ(successor.self().incarnation, 2);
  EXPECT_EQ(first.refresh().value(), escrow::Membership::kFenced);
  // A copy of a directory whose node is alive.
  Joining copy = node(unique("c"), "2");
  EXPECT_FALSE(copy.attempt().value().has_value());
  for (int second_number = 0; second_number < 2; ++second_number) {
    advance(1s);
    EXPECT_EQ(second.refresh().value(), escrow::Membership::kMember);
  }
  expect_error(copy.attempt(), ErrorCode::kInvalid, "a copy of it");

  advance(6s);
  EXPECT_EQ(second.refresh().value(), escrow::Membership::kMember);
  EXPECT_EQ(count_named(second, {a, b}), 1U) << "the successor has said nothing";
  EXPECT_EQ(successor.refresh().value(), escrow::Membership::kMember);
  successor.leave().value();
  world().store().clear().value();
  EXPECT_EQ(second.refresh().value(), escrow::Membership::kWiped);
}

}  // namespace
}  // namespace mete::conformance
