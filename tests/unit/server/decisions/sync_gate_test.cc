// Answers leave when what they tell of is on disk: through sockets, on two event loops.
#include "server/decisions/sync_gate.h"

#include "unit/server/doors/synced_fixture.h"

namespace mete::server {
namespace {

using testing::RespClient;

const std::string kTaken = "[1, 9, 10, 0, -1, []]";
const std::string kTakenTwice = "[1, 8, 10, 0, -1, []]";
const std::string kDiskFull = "-UNAVAILABLE the disk is full";

class SyncGateTest : public testing::SyncedFixture {};

TEST_F(SyncGateTest, AnAnswerLeavesAfterTheSync) {
  RespClient client = connect();
  EXPECT_EQ(client.ask("PING"), "+PONG") << "it waits for nothing";
  client.send("TAKE s k\r\n");
  expect_withheld(client, 1);
  store.disk.sync_to(1);
  EXPECT_EQ(client.next(), kTaken);
  EXPECT_EQ(client.ask("USAGE s k"), "[1, 0, 9, 10, -1]");
  EXPECT_EQ(store.disk.requests(), 1U);
}

TEST_F(SyncGateTest, ASyncMayBeQuickerThanTheLoop) {
  store.disk.sync_at_once();
  RespClient client = connect();
  EXPECT_EQ(client.ask("TAKE s k"), kTaken);
  client.send("TAKE s k\r\nTAKE s k COST 7\r\nPING\r\n");
  EXPECT_EQ(client.next(), kTakenTwice);
  EXPECT_EQ(client.next(), "[1, 1, 10, 0, -1, []]");
  EXPECT_EQ(client.next(), "+PONG");
}

TEST_F(SyncGateTest, APipelineIsServedOnAndKeepsItsOrder) {
  RespClient client = connect();
  client.send("PING\r\nTAKE s k\r\nPING\r\n");
  expect_withheld(client, 1);
  client.send("TAKE s k\r\n");
  expect_withheld(client, 2);
  client.send("PING\r\n");
  settle();
  store.disk.sync_to(1);
  EXPECT_EQ(client.next(), "+PONG");
  EXPECT_EQ(client.next(), kTaken);
  EXPECT_EQ(client.next(), "+PONG");
  settle();
  EXPECT_FALSE(client.has_input());
  store.disk.sync_to(2);
  EXPECT_EQ(client.next(), kTakenTwice);
  EXPECT_EQ(client.next(), "+PONG");
}

TEST_F(SyncGateTest, EachConnectionWaitsForItsOwn) {
  RespClient first = connect(0);
  RespClient second = connect(1);
  RespClient third = connect(0);
  RespClient reader = connect(0);
  first.send("TAKE s a\r\n");
  expect_withheld(first, 1);
  second.send("TAKE s b\r\n");
  expect_withheld(second, 2);
  third.send("TAKE s c\r\n");
  expect_withheld(third, 3);
  EXPECT_EQ(reader.ask("PING"), "+PONG");
  store.disk.sync_to(2);
  EXPECT_EQ(first.next(), kTaken);
  EXPECT_EQ(second.next(), kTaken);
  settle();
  EXPECT_FALSE(third.has_input());
  store.disk.sync_to(3);
  EXPECT_EQ(third.next(), kTaken);
}

TEST_F(SyncGateTest, AFailureReplacesWhatIsWithheld) {
  RespClient client = connect(0);
  RespClient other = connect(1);
  RespClient idle = connect(0);
  client.send("TAKE s a\r\n");
  expect_withheld(client, 1);
  client.send("TAKE s a\r\nPING\r\n");
  expect_withheld(client, 2);
  other.send("TAKE s b\r\nTAKE s b\r\n");
  expect_withheld(other, 4);
  store.disk.sync_to(1);
  EXPECT_EQ(client.next(), kTaken);
  store.disk.fail("the disk is full");
  EXPECT_EQ(client.next(), kDiskFull);
  EXPECT_EQ(client.next(), "(closed)");
  EXPECT_EQ(other.next(), kDiskFull) << "one for all";
  EXPECT_EQ(other.next(), "(closed)");
  EXPECT_EQ(idle.ask("TAKE s a"), kDiskFull);
  EXPECT_EQ(idle.ask("PING"), "+PONG") << "what has lost nothing stays";
  store.disk.sync_to(1);
  EXPECT_EQ(told_failures, "the disk is full;") << "once";
}

TEST_F(SyncGateTest, WhatWasSyncedBeforeAFailureIsSentAsItIs) {
  RespClient client = connect();
  client.send("TAKE s a\r\n");
  expect_withheld(client, 1);
  client.send("TAKE s a\r\n");
  expect_withheld(client, 2);
  // Both are known when the loop looks.
  std::latch can_go_on(1);
  service.workers[0]->loop.post([&] { can_go_on.wait(); });
  store.disk.sync_to(1);
  store.disk.fail("the disk is full");
  can_go_on.count_down();
  EXPECT_EQ(client.next(), kTaken);
  EXPECT_EQ(client.next(), kDiskFull);
  EXPECT_EQ(client.next(), "(closed)");
}

TEST_F(SyncGateTest, GoodbyesAndEndsComeBehind) {
  RespClient quits = connect(0);
  RespClient ends = connect(1);
  quits.send("TAKE s a\r\nQUIT\r\n");
  expect_withheld(quits, 1);
  ends.send("TAKE s b\r\n");
  ends.end_sending();
  expect_withheld(ends, 2);
  store.disk.sync_all();
  for (RespClient* const client : {&quits, &ends}) EXPECT_EQ(client->next(), kTaken);
  EXPECT_EQ(quits.next(), "+OK");
  for (RespClient* const client : {&quits, &ends}) EXPECT_EQ(client->next(), "(closed)");
}

TEST_F(SyncGateTest, AServerThatStopsSendsWhatWasWithheld) {
  std::latch is_empty(2);
  service.shut_down = [&] {
    for (const auto& worker : service.workers) {
      worker->loop.post([&] { worker->connections.finish_all([&] { is_empty.count_down(); }); });
    }
  };
  RespClient client = connect(0);
  RespClient other = connect(1);
  other.send("TAKE s b\r\n");
  expect_withheld(other, 1);
  client.send("TAKE s a\r\nSHUTDOWN\r\n");
  expect_withheld(client, 2);
  store.disk.sync_all();
  for (RespClient* const each : {&client, &other}) {
    EXPECT_EQ(each->next(), kTaken);
    EXPECT_EQ(each->next(), "(closed)");
    each->close();
  }
  is_empty.wait();
}

// The queue is on the first loop, the client on another.
TEST_F(SyncGateTest, ATakeThatHasWaitedIsToldAfterItsSync) {
  store.disk.sync_at_once();
  RespClient holder = connect(0);
  EXPECT_EQ(holder.ask("TAKE one k"), "[1, 0, 1, 0, -1, []]");
  RespClient waiter = connect(1);
  waiter.send("TAKE one k WAIT 1h\r\nPING\r\n");
  while (service.waits.size() == 0) settle();
  store.disk.sync_when_told();
  holder.send("GIVE one k\r\n");
  while (service.waits.size() != 0) settle();
  expect_withheld(waiter, store.disk.issued());
  store.disk.sync_all();
  EXPECT_EQ(holder.next(), "[1, 1, 1]");
  EXPECT_EQ(waiter.next(), "[1, 0, 1, 0, -1, []]");
  EXPECT_EQ(waiter.next(), "+PONG");
}

TEST_F(SyncGateTest, ACommandBesideTheLoopsWaitsThere) {
  RespClient client = connect();
  client.send("LIMIT DEL one\r\nPING\r\n");
  store.disk.wait_until_requested(1);
  settle();
  EXPECT_FALSE(client.has_input());
  RespClient other = connect();
  EXPECT_EQ(other.ask("PING"), "+PONG");
  store.disk.sync_all();
  EXPECT_EQ(client.next(), "1");
  EXPECT_EQ(client.next(), "+PONG");
}

TEST_F(SyncGateTest, AMonitorSeesItsOkFirst) {
  RespClient monitor = connect();
  monitor.send("TAKE s k\r\nMONITOR\r\n");
  expect_withheld(monitor, 1);
  RespClient other = connect();
  EXPECT_EQ(other.ask("PING"), "+PONG");
  settle();
  store.disk.sync_all();
  EXPECT_EQ(monitor.next(), kTaken);
  EXPECT_EQ(monitor.next(), "+OK");
  EXPECT_NE(monitor.next().find("\"PING\""), std::string::npos);
}

class HttpSyncGateTest : public testing::SyncedFixture {
 protected:
  static std::string take(std::string_view key) {
    const std::string body = R"({"charges":[{"limit":"s","key":")" + std::string(key) + R"("}]})";
    return "POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
};

TEST_F(HttpSyncGateTest, AnAnswerLeavesAfterTheSync) {
  RespClient client = connect_http();
  client.send(take("a") + "GET /v1/check?limit=s&key=a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  expect_withheld(client, 2);
  store.disk.sync_all();
  const std::string answers = client.read_to_end();
  const std::size_t first = answers.find("X-RateLimit-Remaining: 9");
  const std::size_t second = answers.find("X-RateLimit-Remaining: 8");
  EXPECT_LT(first, second) << answers;
  EXPECT_NE(second, std::string::npos) << answers;
}

TEST_F(HttpSyncGateTest, AFailureIsAProblem) {
  RespClient client = connect_http();
  client.send(take("a") + take("a"));
  expect_withheld(client, 2);
  store.disk.fail("the disk is full");
  const std::string answer = client.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n")) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\"detail\":\"the disk is full\",\"code\":\"UNAVAILABLE\""), std::string::npos) << answer;
  EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << "one for all: " << answer;
}

}  // namespace
}  // namespace mete::server
