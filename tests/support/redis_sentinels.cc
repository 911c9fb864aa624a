#include "support/redis_sentinels.h"

#include <chrono>

#include "support/waiting.h"

namespace mete::support {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 60s;
constexpr std::string_view kMaster = "mymaster";

RedisServer::Options replica_of(const RedisServer& master) {
  return {
      .arguments = {"--replicaof", "127.0.0.1 " + std::to_string(master.port()), "--repl-diskless-sync-delay", "0"}};
}

RedisServer::Options sentinel_of(const RedisServer& master) {
  const std::string name(kMaster);
  return {.arguments = {"--sentinel"},
          .configuration = "sentinel monitor " + name + " 127.0.0.1 " + std::to_string(master.port()) +
                           " 2\nsentinel down-after-milliseconds " + name + " 1500\nsentinel failover-timeout " + name +
                           " 3000\n"};
}

// A field of what a Sentinel knows of the master.
std::string known_by(const RedisServer& sentinel, std::string_view field) {
  const wire::RespValue reply = sentinel.call({"SENTINEL", "MASTER", kMaster});
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    if (reply.elements[i].text == field) return reply.elements[i + 1].text;
  }
  return {};
}

// In milliseconds; until it is started again.
void set_period(const RedisServer& sentinel, std::string_view name, std::string_view ms) {
  if (const auto reply = sentinel.call({"SENTINEL", "DEBUG", name, ms}); reply.text != "OK") fail(reply.text);
}

}  // namespace

RedisSentinels::RedisSentinels() {
  servers_[0] = std::make_unique<RedisServer>(RedisServer::Options{.arguments = {"--repl-diskless-sync-delay", "0"}});
  servers_[1] = std::make_unique<RedisServer>(replica_of(*servers_[0]));
  servers_[0]->await_replica();
  for (auto& sentinel : sentinels_) {
    sentinel = std::make_unique<RedisServer>(sentinel_of(*servers_[0]));
    // They tell each other of themselves more often, until they know each other.
    set_period(*sentinel, "publish-period", "100");
    // One that a busy machine has kept waiting for two seconds would do nothing for the next thirty (TILT).
    set_period(*sentinel, "tilt-trigger", "60000");
  }
  for (const auto& sentinel : sentinels_) {
    const auto knows_all = [&] {
      return known_by(*sentinel, "num-other-sentinels") == std::to_string(kSentinels - 1) &&
             known_by(*sentinel, "num-slaves") == std::to_string(kServers - 1);
    };
    if (!becomes_true(kPatience, knows_all)) fail("the Sentinels do not find each other:\n" + sentinel->log());
  }
  for (const auto& sentinel : sentinels_) set_period(*sentinel, "publish-period", "2000");
  await_master(0);
}

std::string RedisSentinels::url() const {
  std::string text = "redis+sentinel://";
  for (std::size_t i = 0; i < kSentinels; ++i) text += (i == 0 ? "" : ",") + sentinels_[i]->address();
  return text + "/" + std::string(kMaster);
}

void RedisSentinels::await_master(std::size_t number) const {
  const RedisServer& master = *servers_[number];
  const auto is_master = [&] {
    for (const auto& sentinel : sentinels_) {
      if (known_by(*sentinel, "port") != std::to_string(master.port())) return false;
    }
    return master.info("role") == "master";
  };
  if (!becomes_true(kPatience, is_master)) fail("the Sentinels do not agree on a master:\n" + sentinels_[0]->log());
}

}  // namespace mete::support
