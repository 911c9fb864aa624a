// A service with several event loops: clients on each of them, who take, hold, wait, define and look at once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "net/connection_set.h"
#include "server/decisions/wait_queue.h"
#include "server/doors/resp/resp_session.h"
#include "server/observation/readings.h"
#include "server/running/service.h"
#include "server/running/worker.h"
#include "store/embedded/embedded_store.h"
#include "threads/many.h"
#include "unit/server/doors/synced_store.h"
#include "wire/resp_reply.h"

namespace mete::threads {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLoops = 2;
constexpr int kRequests = 4'000 / kSlowdown;

std::vector<std::unique_ptr<server::Worker>> make_workers() {
  std::vector<std::unique_ptr<server::Worker>> workers;
  for (std::size_t index = 0; index < kLoops; ++index) workers.push_back(std::make_unique<server::Worker>());
  return workers;
}

class RunningService {
 public:
  explicit RunningService(store::Store& store) : service(store, {}, make_workers()) {
    service.slow_threshold_ns = 0;
    service.watch_persistence([](const Error&) {});
    service.shut_down = [] {};
    service.apply_config = [] {};
    protocol_.make_session = [this](net::ConnectionSet& set, std::uint64_t id, int) -> std::unique_ptr<net::Session> {
      auto client = std::make_shared<server::Client>();
      client->id = id;
      for (const auto& worker : service.workers) {
        if (&worker->connections == &set) client->worker = worker.get();
      }
      return std::make_unique<server::RespSession>(service, *client->worker, client);
    };
    for (const auto& worker : service.workers) threads_.emplace_back([&loop = worker->loop] { loop.run(); });
  }
  ~RunningService() {
    for (const auto& worker : service.workers) worker->loop.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  net::Descriptor connect() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::uint64_t id = ++last_id_;
    server::Worker& worker = *service.workers[id % kLoops];
    worker.loop.post(
        [this, &worker, id, end = ends[1]] { worker.connections.add(net::Descriptor(end), id, protocol_); });
    return net::Descriptor(ends[0]);
  }

  server::Service service;

 private:
  net::Protocol protocol_;
  std::atomic<std::uint64_t> last_id_{0};
  std::vector<std::thread> threads_;
};

class Client {
 public:
  explicit Client(net::Descriptor socket) : socket_(std::move(socket)) {}

  wire::RespValue ask(std::string_view line) {
    const std::string request = std::string(line) + "\r\n";
    EXPECT_EQ(::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    while (true) {
      auto reply = parser_.next();
      EXPECT_TRUE(reply.has_value());
      if (!reply.has_value()) return {};
      if (*reply) return **reply;
      std::array<char, 4096> bytes{};
      const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      EXPECT_GT(count, 0) << line;
      if (count <= 0) return {};
      parser_.append({bytes.data(), static_cast<std::size_t>(count)});
    }
  }

 private:
  net::Descriptor socket_;
  wire::ReplyParser parser_;
};

// What is taken and given back is all that counts, whoever asked on whichever loop; waits are answered once each.
TEST(Service, CountsRightUnderLoadFromAllItsLoops) {
  constexpr Amount kAmount = 3;
  store::EmbeddedStore store{Options{}};
  RunningService running(store);
  ASSERT_TRUE(store.define(stock("slots").amount(kAmount)).has_value());
  ASSERT_TRUE(store.define(stock("many").amount(1'000'000)).has_value());
  std::atomic<Amount> in_use = 0;
  std::atomic<Amount> taken = 0;
  run(kThreads, [&](int thread, Random& random) {
    Client client(running.connect());
    for (int request = 0; request < kRequests / 4; ++request) {
      const auto reply = client.ask("TAKE slots shared WAIT 1h");
      ASSERT_EQ(reply.elements.size(), 6U);
      ASSERT_EQ(reply.elements[0].integer, 1);
      ASSERT_LE(++in_use, kAmount);
      if (client.ask("TAKE many " + key_name(random.below(5))).elements[0].integer == 1) ++taken;
      --in_use;
      ASSERT_EQ(client.ask("GIVE slots shared").elements[0].integer, 1);
      if (thread == 0 && random.one_in(20)) client.ask("LIMIT SET other STOCK 5");
    }
  });
  EXPECT_EQ(store.usage({"slots", "shared"})->used, 0);
  Amount used = 0;
  for (int key = 0; key < 5; ++key) used += store.usage({"many", key_name(key)})->used;
  EXPECT_EQ(used, taken);
  EXPECT_EQ(running.service.waits.size(), 0U);
}

// Everything that looks at other loops, while they work and their clients come and go.
TEST(Service, CanBeLookedAtWhileItWorks) {
  store::EmbeddedStore store{Options{}};
  RunningService running(store);
  ASSERT_TRUE(store.define(bucket("api").amount(100).per(1s)).has_value());
  run(kThreads, [&](int thread, Random& random) {
    const std::vector<std::string> requests = {"TAKE api " + key_name(thread),
                                               "PEEK api a",
                                               "SET k 5 EX 1",
                                               "INCR k",
                                               "HOLD api a TTL 1s",
                                               "HELLO 3",
                                               "CLIENT SETNAME joe",
                                               "CLIENT LIST",
                                               "INFO",
                                               "TOP",
                                               "KEYS *",
                                               "SLOWLOG GET",
                                               "CONFIG GET *",
                                               "CONFIG SET server.slowlog_threshold 1ms",
                                               "LIMIT SET api BUCKET 200 PER 1s",
                                               "COMMAND DOCS",
                                               "FLUSHALL",
                                               "TAKE api a WAIT 1ms COST 200",
                                               "CLIENT KILL ID 999999",
                                               "RESET"};
    for (int visit = 0; visit < 8; ++visit) {
      Client client(running.connect());
      const bool is_monitor = thread == 0 && visit % 2 == 0;
      for (int request = 0; request < kRequests / 40; ++request) {
        client.ask(requests[static_cast<std::size_t>(random.below(static_cast<int>(requests.size())))]);
      }
      if (is_monitor) client.ask("MONITOR");
      if (random.one_in(3)) std::ignore = server::read(running.service);
    }
  });
  const auto readings = server::read(running.service);
  EXPECT_GT(readings.commands, 0U);
}

// Nobody hears of a take before it is on disk, and everybody does then; until the disk fails.
TEST(Service, AnswersAfterTheSync) {
  server::testing::SyncedStore store;
  RunningService running(store);
  ASSERT_TRUE(store.define(stock("many").amount(1'000'000)).has_value());
  std::atomic<std::uint64_t> answered = 0;
  std::atomic<int> failed = 0;
  std::thread disk([&] {
    while (answered < static_cast<std::uint64_t>(kRequests)) {
      store.disk.sync_all();
      std::this_thread::yield();
    }
    store.disk.fail("the disk is full");
  });
  run(kThreads, [&](int thread, Random& random) {
    Client client(running.connect());
    while (true) {
      // Some wait in the queue on the first loop, some run beside the loops.
      const std::string request = random.one_in(10)   ? "TAKE many a WAIT 1h"
                                  : random.one_in(50) ? "LIMIT DEL other"
                                                      : "TAKE many " + key_name(thread);
      const auto reply = client.ask(request);
      if (reply.type == wire::RespType::kError) break;
      ASSERT_GE(store.disk.synced(), ++answered);
    }
    ++failed;
  });
  disk.join();
  EXPECT_EQ(failed, kThreads);
}

// A service ends with clients that are connected, blocked and waiting.
TEST(Service, EndsWithItsClients) {
  for (int round = 0; round < 10; ++round) {
    std::vector<net::Descriptor> sockets;
    store::EmbeddedStore store{Options{}};
    RunningService running(store);
    ASSERT_TRUE(store.define(stock("s").amount(1)).has_value());
    for (const std::string_view request :
         {"PING\r\n", "TAKE s k\r\nTAKE s k WAIT 1h\r\n", "KEYS *\r\n", "MONITOR\r\n"}) {
      sockets.push_back(running.connect());
      ASSERT_GT(::send(sockets.back().get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
    }
    while (running.service.clients.size() < 4) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace mete::threads
