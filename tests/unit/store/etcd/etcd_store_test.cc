// The store against a real etcd: what no other store has in common with it.
#include "store/etcd/etcd_store.h"

#include <gtest/gtest.h>
#include <mete/mete.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "store/etcd/entry.h"
#include "store/etcd/grpc_connection.h"
#include "store/etcd/sweeper.h"
#include "support/etcd_server.h"
#include "support/on_fibers.h"
#include "support/proxy.h"
#include "support/waiting.h"
#include "wire/protobuf.h"

namespace mete::store::etcd {
namespace {

using namespace std::chrono_literals;
using support::EtcdServer;
using wire::ProtobufWriter;

const Instant kStart = Instant::from_ns(1'700'000'000'000'000'000);

class EtcdStoreTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string url() const { return support::shared_etcd().patient_url(path_); }
  Limiter open_with(const Clock& clock) { return open(url(), {.clock = &clock}).value(); }

  const std::string path_ = support::unused_etcd_path();
};

TEST_F(EtcdStoreTest, PrefixesDoNotMeet) {
  Limiter one = open(url()).value();
  Limiter other = open(support::shared_etcd().patient_url(path_ + "/deeper")).value();
  ASSERT_TRUE(one.define(stock("api").amount(10)));
  EXPECT_FALSE(other.find_limit("api").value().has_value());
  EXPECT_TRUE(other.limits()->empty());
}

// Two machines whose clocks differ: time is what the keys say, if that is later.
TEST_F(EtcdStoreTest, TimeIsNeverBeforeWhatAKeyCarries) {
  ManualClock ahead(kStart + Duration(1h));
  ManualClock behind(kStart);
  Limiter one = open_with(ahead);
  Limiter other = open_with(behind);
  ASSERT_TRUE(one.define(window("sms").amount(5).per(1min)));
  EXPECT_TRUE(one.take("sms", "k", 5).value().allowed());
  const auto denied = other.take("sms", "k");
  ASSERT_TRUE(denied.has_value()) << denied.error().message;
  EXPECT_FALSE(denied->allowed()) << "in the window of an hour ago there would be room";
}

// What was swept away by the clock that is ahead does not come back for the one that is behind.
TEST_F(EtcdStoreTest, WhatIsForgottenIsForgottenAtATimeThatAllKnow) {
  ManualClock ahead(kStart);
  ManualClock behind(kStart);
  Limiter one = open_with(ahead);
  ASSERT_TRUE(one.define(window("sms").amount(5).per(1min)));
  EXPECT_TRUE(one.take("sms", "k", 5).value().allowed());
  ahead.advance(1min);
  Client client(parse_url(url()).value(), nullptr);
  MonotoneClock clock(ahead);
  const std::string prefix = parse_url(url())->prefix;
  Transactor transactor(client, clock, {.prefix = prefix, .timeout = 20s, .id_retention = 24h});
  std::vector<EntryName> entries;
  add_meter(entries, "sms", "k");
  // The limiter's own thread may be at it too.
  const auto is_gone = [&] {
    (void)transactor.sweep(entries);
    return transactor.fetch(entries)->at(entries[2]).revision == 0;
  };
  ASSERT_TRUE(support::becomes_true(20s, is_gone)) << "the meter is as a fresh one";
  Limiter other = open_with(behind);
  EXPECT_TRUE(other.take("sms", "k", 3).value().allowed());
  EXPECT_EQ(other.usage("sms", "k")->used, 3);
  EXPECT_EQ(one.usage("sms", "k")->used, 3) << "both are in the same window";
}

// A machine whose clock was an hour ahead for a moment does not take the others with it.
TEST_F(EtcdStoreTest, ATimeThatIsTooFarAheadIsRefused) {
  const auto store = EtcdStore::open(url(), {.clock_step_max = 10min}).value();
  store->define(stock("api").amount(10)).value();
  const Charge charges[] = {{"api", "k", 1}};
  const Charge others[] = {{"api", "other", 1}};
  ASSERT_TRUE(store->take({.charges = charges})->is_allowed);
  {
    const ManualClock ahead(store->now() + Duration(1h));
    const auto wrong = EtcdStore::open(url(), {.clock = &ahead}).value();
    ASSERT_TRUE(wrong->take({.charges = charges})->is_allowed);
  }
  const std::string key = key_of(parse_url(url())->prefix, {Space::kMeter, "api", "k"});
  for (int i = 0; i < 3; ++i) {
    const auto refused = store->take({.charges = charges});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(refused.error().message.find("etcd's key '" + key + "'"), std::string::npos) << refused.error().message;
  }
  EXPECT_EQ(store->clock_status().refused_steps, 1U) << "one step";
  EXPECT_LT(store->clock_status().refused_by, Duration(-50min)) << "this machine's clock is behind";
  EXPECT_TRUE(store->take({.charges = others})->is_allowed) << "time has not gone on";
  EXPECT_EQ(store->clock_status().refused_by, Duration());
  // As docs/etcd.md says.
  Client client(parse_url(url()).value(), nullptr);
  ASSERT_TRUE(client.run({.deletes = {{.key = key}}}, net::Deadline::in(20s)).has_value());
  EXPECT_TRUE(store->take({.charges = charges})->is_allowed);
  // A small difference is followed, as ever.
  const ManualClock near(store->now() + Duration(1min));
  const auto other = EtcdStore::open(url(), {.clock = &near}).value();
  ASSERT_TRUE(other->take({.charges = charges})->is_allowed);
  EXPECT_TRUE(store->take({.charges = charges})->is_allowed);
}

TEST_F(EtcdStoreTest, TellsHowManyHoldsHaveExpired) {
  ManualClock clock(kStart);
  const auto store = EtcdStore::open(url(), {.clock = &clock}).value();
  store->define(stock("api").amount(10)).value();
  const Charge charges[] = {{"api", "k", 1}};
  for (const std::string_view id : {"one", "two"}) {
    ASSERT_TRUE(store->hold({.charges = charges, .ttl = 1min, .id = std::string(id)})->is_allowed);
  }
  EXPECT_EQ(store->statistics().expired_holds, 0U);
  clock.advance(2min);
  EXPECT_TRUE(support::becomes_true(20s, [&] { return store->statistics().expired_holds == 2; }));
}

TEST_F(EtcdStoreTest, TheSweepNeverTakesAwayWhatIsInUse) {
  ManualClock clock(kStart);
  Limiter limiter = open_with(clock);
  ASSERT_TRUE(limiter.define(stock("api").amount(1000)));
  ASSERT_TRUE(limiter.define(bucket("fast").amount(10).per(1s)));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(limiter.take("api", "k" + std::to_string(i)).has_value());
    ASSERT_TRUE(limiter.take("fast", "k" + std::to_string(i)).has_value());
  }
  ASSERT_TRUE(limiter.hold({{"api", "held", 5}}, 1min, {.id = "short", .tag = "t"}).has_value());
  ASSERT_TRUE(limiter.take({{"api", "k0"}}, {.id = "old"}).has_value());
  clock.advance(25h);
  // Its own thread goes round; what is left then is what is in use.
  const auto count = [&](Space space) {
    Client client(parse_url(url()).value(), nullptr);
    const KeyRange range = range_of(parse_url(url())->prefix, space);
    const Txn txn = {.reads = {{.key = range.begin, .end = range.end, .count_only = true}}};
    return client.run(txn, net::Deadline::in(20s)).value().reads[0].count;
  };
  EXPECT_TRUE(support::becomes_true(60s, [&] { return count(Space::kMeter) == 100; })) << count(Space::kMeter);
  EXPECT_TRUE(support::becomes_true(60s, [&] { return count(Space::kOperation) == 0; }));
  EXPECT_EQ(count(Space::kTag), 0U);
  EXPECT_EQ(limiter.usage("api", "k0")->used, 2);
  EXPECT_EQ(limiter.usage("api", "k99")->used, 1);
}

TEST_F(EtcdStoreTest, AMeterHasSoManyOpenHoldsAtMost) {
  Limiter limiter = open(url()).value();
  ASSERT_TRUE(limiter.define(stock("api").amount(1'000'000)));
  for (std::size_t i = 0; i < EtcdStore::kOpenHoldsMax; ++i) {
    ASSERT_TRUE(limiter.hold({{"api", "k", 1}}, 1h, {.id = "h" + std::to_string(i)}).has_value());
  }
  const auto refused = limiter.hold({{"api", "k", 1}}, 1h, {.id = "one more"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(refused.error().message.find("1000 are open"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(limiter.hold({{"api", "k", 1}}, 1h, {.id = "h7"}).has_value()) << "the answer from before";
  EXPECT_TRUE(limiter.commit("h7"));
  EXPECT_TRUE(limiter.hold({{"api", "k", 1}}, 1h, {.id = "one more"}).has_value());
  EXPECT_EQ(limiter.usage("api", "k")->held, Amount{EtcdStore::kOpenHoldsMax});
}

TEST_F(EtcdStoreTest, ALimitIsRedefinedAnyNumberOfTimes) {
  ManualClock clock(kStart);
  Limiter limiter = open_with(clock);
  for (Amount amount = 100; amount < 160; ++amount) {
    ASSERT_TRUE(limiter.define(stock("api").amount(amount)));
    ASSERT_TRUE(limiter.take("api", "often").value().allowed());
    if (amount == 100) {
      ASSERT_TRUE(limiter.take("api", "once", 7).value().allowed());
    }
    clock.advance(1s);
  }
  EXPECT_EQ(limiter.usage("api", "often")->used, 60);
  EXPECT_EQ(limiter.usage("api", "once")->used, 7);
  EXPECT_EQ(limiter.usage("api", "once")->remaining, 159 - 7);
}

TEST_F(EtcdStoreTest, WhatItCannotReadIsLeftAlone) {
  Limiter limiter = open(url()).value();
  ASSERT_TRUE(limiter.define(stock("api").amount(10)));
  Client client(parse_url(url()).value(), nullptr);
  const std::string key = key_of(parse_url(url())->prefix, {Space::kMeter, "api", "k"});
  ASSERT_TRUE(client.run({.puts = {{key, "\x02 of a later version"}}}, net::Deadline::in(20s))->has_changed);
  const auto answer = limiter.take("api", "k");
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().message.find("is of version 2"), std::string::npos) << answer.error().message;
  EXPECT_TRUE(limiter.take("api", "another").value().allowed());
}

TEST_F(EtcdStoreTest, ManyCallsShareAConnection) {
  Client client(parse_url(url()).value(), nullptr);
  const auto deadline = net::Deadline::in(20s);
  int right = 0;
  support::on_fibers(100, [&](std::size_t i) {
    const std::string key = path_ + "/" + std::to_string(i);
    // Some are long, so that short ones overtake them.
    const std::string value(i % 7 == 0 ? 100'000 : 1, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(client.run({.puts = {{key, value}}}, deadline).has_value());
    const auto answer = client.run({.reads = {{.key = key}}}, deadline);
    ASSERT_TRUE(answer.has_value()) << answer.error().error.message;
    right += answer->reads[0].found.at(0).value == value ? 1 : 0;
  });
  EXPECT_EQ(right, 100);
  EXPECT_EQ(client.status().connections, 1U);
}

// One that gives up is alone with that, and the next call has a connection that owes nobody anything.
TEST(EtcdStoreCalls, OneThatGivesUpDisturbsNoOther) {
  const EtcdServer server;
  support::Proxy proxy(server.port());
  const auto address = net::parse_address("127.0.0.1:" + std::to_string(proxy.port())).value();
  const std::string read = encode(Txn{.reads = {{.key = "k"}}});
  support::on_fibers(1, [&](std::size_t) {
    auto connection = GrpcConnection::open(address, nullptr, net::Deadline::in(20s)).value();
    EXPECT_GT(connection->distance(), Duration());
    proxy.delay_replies(100ms);
    net::Fibers others(*net::EventLoop::current());
    std::string late;
    others.run_soon([&] {
      const auto reply = connection->call({.path = kTxnPath, .message = read}, net::Deadline::in(10ms));
      late = reply ? "answered" : reply.error().message;
    });
    const auto reply = connection->call({.path = kTxnPath, .message = read}, net::Deadline::in(20s));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, GrpcStatus::kOk);
    EXPECT_NE(late.find("no answer within 10ms"), std::string::npos) << late;
  });
}

// Users and their tokens, which a restart of etcd forgets.
TEST(EtcdStoreUsers, AreAskedForTheirPassword) {
  EtcdServer server;
  const auto address = net::parse_address(server.address()).value();
  const auto deadline = net::Deadline::in(20s);
  auto connection = GrpcConnection::open(address, nullptr, deadline).value();
  const auto ask = [&](std::string_view method, const ProtobufWriter& message) {
    const std::string path = "/etcdserverpb.Auth/" + std::string(method);
    const auto reply = connection->call({.path = path, .message = message.text()}, deadline).value();
    EXPECT_EQ(reply.status, GrpcStatus::kOk) << reply.words;
  };
  ask("UserAdd", ProtobufWriter().bytes(1, "root").bytes(2, "secret"));
  ask("RoleAdd", ProtobufWriter().bytes(1, "root"));
  ask("UserGrantRole", ProtobufWriter().bytes(1, "root").bytes(2, "root"));
  ask("AuthEnable", ProtobufWriter());

  const auto nobody = open(server.patient_url());
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().message.find("etcd://user:password@host"), std::string::npos) << nobody.error().message;
  const auto wrong = open("etcd://root:wrong@" + server.address() + "?timeout=20s");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("authentication failed"), std::string::npos) << wrong.error().message;
  Limiter limiter = open("etcd://root:secret@" + server.address() + "?timeout=20s").value();
  ASSERT_TRUE(limiter.define(stock("api").amount(10)));
  server.kill_hard();
  server.start_again();
  EXPECT_TRUE(support::becomes_true(20s, [&] { return limiter.take("api", "k").has_value(); }));
}

TEST(EtcdStoreTls, ShakesHandsAndSaysWhomItTrusts) {
  const support::TemporaryDirectory directory;
  const std::string key = directory.path() / "key.pem";
  const std::string certificate = directory.path() / "certificate.pem";
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=test -addext "
      "subjectAltName=IP:127.0.0.1 -keyout " +
      key + " -out " + certificate + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
  const EtcdServer server({.arguments = {"--cert-file", certificate, "--key-file", key}, .has_tls = true});
  const std::string url = "etcds://" + server.address() + "?timeout=20s";
  Limiter limiter = open(url + "&ca=" + certificate).value();
  ASSERT_TRUE(limiter.define(stock("api").amount(10)));
  EXPECT_TRUE(limiter.take("api", "k").value().allowed());
  const auto stranger = open(url);
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().message.find("certificate"), std::string::npos) << stranger.error().message;
  EXPECT_FALSE(open("etcd://" + server.address() + "?timeout=2s")) << "without TLS";
}

TEST(EtcdStoreOpen, SaysThatNobodyListens) {
  const auto store = open("etcd://127.0.0.1:1");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(store.error().message.find("127.0.0.1:1"), std::string::npos) << store.error().message;
}

}  // namespace
}  // namespace mete::store::etcd
