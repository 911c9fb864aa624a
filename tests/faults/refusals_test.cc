// Redis answers, but does not do it: it is out of memory, or somebody made a replica of it.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "faults/load.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

TEST(Refusals, OutOfMemoryIsToldAndChangesNothing) {
  const support::RedisServer server({.arguments = {"--maxmemory-policy", "noeviction"}});
  Limiter limiter = open(server.patient_url()).value();
  ASSERT_TRUE(limiter.define(stock("stock").amount(100)).has_value());
  ASSERT_TRUE(limiter.take("stock", "k", 7).value().allowed());
  ASSERT_EQ(server.call({"CONFIG", "SET", "maxmemory", "1"}).text, "OK");

  const auto taken = limiter.take("stock", "k");
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::kOutOfMemory) << taken.error().message;
  const auto held = limiter.hold({{"stock", "k", 1}}, 1h, {.id = "h"});
  ASSERT_FALSE(held.has_value());
  EXPECT_EQ(held.error().code, ErrorCode::kOutOfMemory) << held.error().message;
  EXPECT_FALSE(limiter.define(stock("other").amount(1)).has_value());
  EXPECT_EQ(limiter.usage("stock", "k").value().used, 7) << "reading goes on";

  ASSERT_EQ(server.call({"CONFIG", "SET", "maxmemory", "0"}).text, "OK");
  EXPECT_EQ(limiter.usage("stock", "k").value().used, 7);
  EXPECT_EQ(limiter.usage("stock", "k").value().held, 0);
  EXPECT_TRUE(limiter.take("stock", "k", 93).value().allowed());
  EXPECT_EQ(limiter.find_limit("other").value(), std::nullopt);
}

TEST(Refusals, AReplicaIsUnavailableUntilItIsAMasterAgain) {
  const support::RedisServer server;
  Limiter limiter = open_when_calm(server.url() + "?timeout=1s");
  ASSERT_TRUE(limiter.define(stock("stock").amount(100)).has_value());
  ASSERT_TRUE(limiter.take("stock", "k", 7).value().allowed());
  // Of a master that nobody is.
  ASSERT_EQ(server.call({"REPLICAOF", "127.0.0.1", "1"}).text, "OK");
  const auto start = steady_clock::now();
  const auto taken = limiter.take("stock", "k");
  EXPECT_LT(steady_clock::now() - start, kInTime);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable) << taken.error().message;

  ASSERT_EQ(server.call({"REPLICAOF", "NO", "ONE"}).text, "OK");
  EXPECT_TRUE(support::becomes_true(10s, [&] { return limiter.take("stock", "k").has_value(); }));
  EXPECT_EQ(limiter.usage("stock", "k").value().used, 8) << "what was refused was not done";
}

}  // namespace
}  // namespace mete::faults
