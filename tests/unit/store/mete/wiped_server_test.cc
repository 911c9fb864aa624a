// A Mete server in memory that is started again behind a store: what it had counted is lost, and that is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving/mete_server.h"
#include "store/open.h"
#include "support/waiting.h"
#include "unit/store/watched_fixture.h"

namespace mete::store::servers {
namespace {

using namespace std::chrono_literals;
using serving::MeteServer;
using ::testing::HasSubstr;

std::unique_ptr<MeteServer> start(std::uint16_t port = 0) {
  return std::make_unique<MeteServer>(std::make_unique<EmbeddedStore>(Options{}), server::Config{}, port);
}

TEST(WipedMeteServer, IsNoticedByAllThatUseIt) {
  auto server = start();
  const std::uint16_t port = server->port();
  server->store().define(stock("disk").amount(10)).value();
  LogText logs[2];
  std::unique_ptr<WatchedStore> servers[2];
  for (int i = 0; i < 2; ++i) {
    servers[i] = WatchedStore::open(open_closed_store(server->url(), {}).value(),
                                    {.name = "it", .log = &logs[i].log(), .has_thread = false})
                     .value();
    servers[i]->on_loss([&, i] { return servers[i]->define(stock("disk").amount(10)); });
  }
  const Charge charge{"disk", "k", 4};
  ASSERT_EQ(servers[0]->take({.charges = {&charge, 1}})->remaining, 6);

  server.reset();
  for (auto& each : servers) {
    each->look();
    EXPECT_FALSE(each->remote()->is_reachable);
  }
  server = start(port);
  for (int i = 0; i < 2; ++i) {
    std::string logged;
    ASSERT_TRUE(support::becomes_true(20s, [&] {
      servers[i]->look();
      logged += logs[i].read();
      return logged.find("the store has lost its state") != std::string::npos;
    }));
    const auto refused = servers[i]->take({.charges = {&charge, 1}});
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("'disk' is refused until store.when_wiped is fresh"));
  }
  EXPECT_TRUE(server->store().limit("disk").value().has_value()) << "it is defined again";

  // A restart of one of them does not open it.
  servers[0] =
      WatchedStore::open(open_closed_store(server->url(), {}).value(), {.name = "it", .has_thread = false}).value();
  EXPECT_FALSE(servers[0]->take({.charges = {&charge, 1}}).has_value());
  servers[1]->set_when_wiped(WhenWiped::kFresh);
  servers[1]->look();
  servers[0]->look();
  EXPECT_EQ(servers[0]->take({.charges = {&charge, 1}})->remaining, 6);
}

}  // namespace
}  // namespace mete::store::servers
