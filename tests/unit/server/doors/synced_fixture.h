// A service with two event loops on a store that syncs when it is told to, and clients of both protocols.
#pragma once

#include <latch>

#include "server/doors/http/http_session.h"
#include "unit/server/doors/resp/resp_fixture.h"
#include "unit/server/doors/synced_store.h"

namespace mete::server::testing {

class SyncedFixture : public ::testing::Test {
 protected:
  SyncedFixture() {
    EXPECT_TRUE(store.define(stock("s").amount(10)).has_value());
    EXPECT_TRUE(store.define(stock("one").amount(1)).has_value());
    service.slow_threshold_ns = std::numeric_limits<std::int64_t>::max();
    service.is_ready = true;
    service.watch_persistence([this](const Error& failure) { told_failures += failure.message + ";"; });
    resp.make_session = [this](net::ConnectionSet& set, std::uint64_t id, int) -> std::unique_ptr<net::Session> {
      auto client = std::make_shared<Client>();
      client->id = id;
      client->worker = &worker_of(set);
      return std::make_unique<RespSession>(service, *client->worker, client);
    };
    http.make_session = [this](net::ConnectionSet& set, std::uint64_t, int) -> std::unique_ptr<net::Session> {
      Worker& worker = worker_of(set);
      return std::make_unique<HttpSession>(api, worker.metrics, wire::HttpLimits(),
                                           HttpLater{{}, {}, {}, {}, &worker.gate});
    };
    for (const auto& worker : service.workers) threads.emplace_back([&loop = worker->loop] { loop.run(); });
  }
  ~SyncedFixture() override {
    for (const auto& worker : service.workers) worker->loop.stop();
    for (std::thread& thread : threads) thread.join();
  }

  Worker& worker_of(const net::ConnectionSet& set) {
    return *service.workers[&set == &service.workers[0]->connections ? 0 : 1];
  }
  RespClient connect(std::size_t loop = 0) { return {*service.workers[loop], ++last_id, resp}; }
  RespClient connect_http() { return {*service.workers[0], ++last_id, http}; }

  // Until each loop has done all that it had to do.
  void settle() {
    for (int round = 0; round < 3; ++round) {
      std::latch done(static_cast<std::ptrdiff_t>(service.workers.size()));
      for (const auto& worker : service.workers) worker->loop.post([&] { done.count_down(); });
      done.wait();
    }
  }
  // Once a sync has been asked for that is to cover so many operations.
  void expect_withheld(RespClient& client, store::Ticket operations) {
    store.disk.wait_until_requested(operations);
    settle();
    EXPECT_FALSE(client.has_input());
  }

  std::string told_failures;
  SyncedStore store;
  Service service{store, {}, make_workers(2)};
  HttpApi api{store,
              {.metrics = [] { return std::string(); },
               .why_not_ready = [this] { return service.why_not_ready(); },
               .syncs = &service.syncs}};
  net::Protocol resp;
  net::Protocol http;
  std::uint64_t last_id = 0;
  std::vector<std::thread> threads;
};

}  // namespace mete::server::testing
