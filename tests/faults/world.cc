#include "faults/world.h"

#include <gtest/gtest.h>

#include <exception>
#include <map>
#include <utility>

#include "faults/load.h"
#include "serving/mete_process.h"
#include "support/etcd_server.h"
#include "support/postgres_server.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::faults {

namespace {

// A URL but for the port, which is the proxy's.
struct Address {
  std::string before_port;
  std::string behind_port;
};

template <class Server>
class WorldOf : public World {
 public:
  WorldOf(typename Server::Options options, Address address)
      : server_(std::move(options)), address_(std::move(address)) {}

  [[nodiscard]] std::string url() const override {
    return address() + "?timeout=" + std::to_string(kTimeout.count()) + "ms";
  }
  [[nodiscard]] std::string patient_url() const override { return address() + kPatient; }
  support::Proxy& proxy() override { return proxy_; }
  [[nodiscard]] const Server& server() const { return server_; }

  void kill_hard() override { server_.kill_hard(); }
  void stop() override { server_.stop(); }
  void start_again() override { server_.start_again(); }
  void pause() override { server_.pause(); }
  void resume() override { server_.resume(); }

 private:
  [[nodiscard]] std::string address() const {
    return address_.before_port + std::to_string(proxy_.port()) + address_.behind_port;
  }

  Server server_;
  Address address_;
  support::Proxy proxy_{server_.port()};
};

std::vector<std::string> redis_arguments(Disk disk) {
  return {"--appendonly", "yes", "--appendfsync", disk == Disk::kSynced ? "always" : "no"};
}

std::unique_ptr<World> start_redis(Disk disk) {
  support::RedisServer::Options options = {.arguments = redis_arguments(disk)};
  return std::make_unique<WorldOf<support::RedisServer>>(std::move(options), Address{"redis://127.0.0.1:", ""});
}

// A Cluster of one node, which tells its clients the port of the proxy in the place of its own.
class ClusterWorld final : public WorldOf<support::RedisServer> {
 public:
  explicit ClusterWorld(std::vector<std::string> arguments)
      : WorldOf(
            {.arguments = std::move(arguments), .configuration = "cluster-announce-port 0\n", .is_cluster_node = true},
            Address{"redis+cluster://127.0.0.1:", ""}) {
    tell({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    tell({"CONFIG", "SET", "cluster-announce-port", std::to_string(proxy().port())});
    tell({"CONFIG", "REWRITE"});
    await_health();
  }

  void start_again() override {
    WorldOf::start_again();
    await_health();
  }

 private:
  void tell(std::initializer_list<std::string_view> words) const {
    const auto reply = server().call(words);
    if (reply.text != "OK") support::fail("a Cluster of one node refuses: " + reply.text);
  }
  // A node refuses for two seconds after its start.
  void await_health() const {
    const auto is_healthy = [this] { return server().cluster_info("cluster_state") == "ok"; };
    if (!support::becomes_true(std::chrono::seconds(60), is_healthy)) support::fail("a Cluster of one node stays down");
  }
};

std::unique_ptr<World> start_redis_cluster(Disk disk) { return std::make_unique<ClusterWorld>(redis_arguments(disk)); }

std::unique_ptr<World> start_postgres(Disk disk) {
  support::PostgresServer::Options options = {.is_durable = disk == Disk::kSynced};
  auto world = std::make_unique<WorldOf<support::PostgresServer>>(std::move(options),
                                                                  Address{"postgres://mete@127.0.0.1:", "/postgres"});
  world->server().install_schema();
  return world;
}

// A stock is on its disk before it is answered, always.
std::unique_ptr<World> start_mete(Disk /*disk*/) {
  return std::make_unique<WorldOf<serving::MeteProcess>>(serving::MeteProcess::Options(),
                                                         Address{"mete://127.0.0.1:", ""});
}

// etcd waits for the disk always.
std::unique_ptr<World> start_etcd(Disk /*disk*/) {
  return std::make_unique<WorldOf<support::EtcdServer>>(support::EtcdServer::Options(),
                                                        Address{"etcd://127.0.0.1:", "/faults"});
}

std::unique_ptr<World>& idle_world(const Make& make, Disk disk) {
  static std::map<std::pair<std::string, Disk>, std::unique_ptr<World>> worlds;
  return worlds[{make.name, disk}];
}

}  // namespace

const std::vector<Make>& makes() {
  static const std::vector<Make> kMakes = {{"redis", start_redis},
                                           {"redis_cluster", start_redis_cluster},
                                           {"postgres", start_postgres},
                                           {"etcd", start_etcd},
                                           {"mete", start_mete}};
  return kMakes;
}

SharedWorld::SharedWorld(const Make& make, Disk disk) : idle_(idle_world(make, disk)), world_(std::move(idle_)) {
  if (!world_) world_ = make.start(disk);
}

SharedWorld::~SharedWorld() {
  if (!::testing::Test::HasFailure() && std::uncaught_exceptions() == 0) idle_ = std::move(world_);
}

std::string unused_key() {
  static int used = 0;
  return "k-" + std::to_string(++used);
}

}  // namespace mete::faults
