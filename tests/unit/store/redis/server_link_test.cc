// The link to one server, against real ones.
#include <thread>
#include <vector>

#include "link_fixture.h"
#include "support/proxy.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;
using support::becomes_true;
using support::Proxy;
using support::RedisServer;

// A call at once, and nothing else: far below the time-out, whatever else the machine does.
constexpr auto kAtOnce = 500ms;
// Much longer than anything here takes, so that only what hangs fails.
constexpr Duration kPatience = 10s;

bool answers(Link& link) { return run_one(link, {"PING"}).has_value(); }

TEST(ServerLink, AnswersEachCommandOfABatch) {
  RedisServer server;
  const auto link = must_open(server.patient_url());
  Batch batch;
  batch.add("a", {"SET", "a", "1"});
  batch.add("a", {"INCRBY", "a", "41"});
  batch.add("a", {"LPUSH", "a", "x"});
  batch.add("", {"ECHO", std::string_view("two\r\nlines\0", 11)});
  batch.add("", {"LRANGE", "nothing", "0", "-1"});
  Replies replies;
  link->run(batch, replies);
  ASSERT_EQ(replies.size(), 5U);
  EXPECT_EQ(text_of(replies[0]), "OK");
  EXPECT_EQ(text_of(replies[1]), "42");
  EXPECT_TRUE(replies[2]->is_error());
  EXPECT_TRUE(replies[2]->text.starts_with("WRONGTYPE"));
  EXPECT_EQ(text_of(replies[3]), std::string_view("two\r\nlines\0", 11));
  EXPECT_EQ(replies[4]->type, wire::RespType::kArray);

  batch.clear();
  link->run(batch, replies);
  EXPECT_TRUE(replies.empty());
  EXPECT_FALSE(link->is_cluster());
}

TEST(ServerLink, TakesBatchesLargerThanAnyBuffer) {
  RedisServer server;
  const auto link = must_open(server.url() + "?timeout=10s");
  const std::string large(300'000, 'x');
  Batch batch;
  for (int i = 0; i < 100; ++i) batch.add("", {"ECHO", large});
  Replies replies;
  link->run(batch, replies);
  for (const auto& reply : replies) ASSERT_EQ(text_of(reply), large);
}

TEST(ServerLink, LoadsFlushedScriptsOnceHoweverManyThreadsMissThem) {
  RedisServer server;
  const auto link = must_open(server.url() + "?timeout=10s");
  constexpr int kThreads = 8;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_EQ(server.call({"SCRIPT", "FLUSH"}).text, "OK");
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        Batch batch;
        for (const Script& script : store_scripts()) {
          batch.add_script("", script, 0, {});
          batch.add("", {"PING"});
        }
        Replies replies;
        link->run(batch, replies);
        for (std::size_t reply = 0; reply < replies.size(); ++reply) {
          ASSERT_TRUE(replies[reply]) << replies[reply].error().message;
          ASSERT_TRUE(reply % 2 == 0 || replies[reply]->text == "PONG");
          ASSERT_FALSE(replies[reply]->text.starts_with("NOSCRIPT"));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(link->status().script_reloads, kRounds);
}

TEST(ServerLink, LoadsTheScriptsWhenItConnects) {
  RedisServer server;
  const auto link = must_open(server.patient_url());
  for (const Script& script : store_scripts()) {
    const auto exists = server.call({"SCRIPT", "EXISTS", script.digest()});
    ASSERT_EQ(exists.elements.size(), 1U);
    EXPECT_EQ(exists.elements[0].integer, 1);
  }
  EXPECT_EQ(link->status().script_reloads, 0U);
}

TEST(ServerLink, CallersDoNotNoticeARestart) {
  RedisServer server;
  const auto link = must_open(server.patient_url());
  for (int i = 0; i < 3; ++i) {
    server.stop();
    server.start_again();
    EXPECT_EQ(text_of(run_one(*link, {"PING"})), "PONG");
    Batch batch;
    batch.add_script("", script(StoreScript::kLook), 0, {});
    Replies replies;
    link->run(batch, replies);
    ASSERT_TRUE(replies[0]);
    EXPECT_FALSE(replies[0]->text.starts_with("NOSCRIPT"));
  }
  EXPECT_EQ(link->status().reconnects, 3U);
  EXPECT_EQ(link->status().failures, 0U);
}

TEST(ServerLink, IsUnavailableWhileTheServerIsAwayAndComesBack) {
  RedisServer server;
  const auto link = must_open(server.patient_url());
  server.kill_hard();
  for (int i = 0; i < 20; ++i) {
    Result<wire::RespValue> reply;
    EXPECT_LT(time_of([&] { reply = run_one(*link, {"PING"}); }), kAtOnce);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(reply.error().message.find("connection refused"), std::string::npos) << reply.error().message;
  }
  EXPECT_FALSE(link->status().is_reachable);
  EXPECT_EQ(link->status().failures, 20U);
  EXPECT_EQ(link->status().connections, 0U);
  server.start_again();
  EXPECT_TRUE(becomes_true(kPatience, [&] { return answers(*link); }));
  EXPECT_TRUE(link->status().is_reachable);
}

TEST(ServerLink, ServerThatHangsCostsTheTimeOutOnce) {
  RedisServer server;
  const auto link = open_when_calm(server.url() + "?timeout=1s");
  server.pause();
  Result<wire::RespValue> reply;
  const auto first = time_of([&] { reply = run_one(*link, {"PING"}); });
  EXPECT_GE(first, 1s);
  EXPECT_LT(first, 5s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(reply.error().message.find("whether the command was carried out is not known"), std::string::npos);
  EXPECT_LT(time_of([&] { reply = run_one(*link, {"PING"}); }), kAtOnce);
  EXPECT_FALSE(reply);
  server.resume();
  EXPECT_TRUE(becomes_true(kPatience, [&] { return answers(*link); }));
}

TEST(ServerLink, LateReplyIsNotTakenForAnother) {
  RedisServer server;
  Proxy proxy(server.port());
  const auto link = open_when_calm(proxy.url() + "?timeout=100ms");
  proxy.delay_replies(300ms);
  const auto asked_at = std::chrono::steady_clock::now();
  EXPECT_FALSE(run_one(*link, {"ECHO", "late"}));
  proxy.pass();
  // Until the late reply has long been due. A busy machine may let other calls time out too.
  int asked = 0;
  int answered = 0;
  EXPECT_TRUE(becomes_true(kPatience, [&] {
    const std::string text = std::to_string(++asked);
    const auto reply = run_one(*link, {"ECHO", text});
    EXPECT_TRUE(!reply.has_value() || reply->text == text) << reply->text << " to " << text;
    if (reply) ++answered;
    return answered >= 50 && std::chrono::steady_clock::now() > asked_at + 600ms;
  }));
}

TEST(ServerLink, WhatMayHaveHappenedIsNotSentAgain) {
  RedisServer server;
  Proxy proxy(server.port());
  const auto link = must_open(proxy.url() + "?timeout=20s");
  proxy.cut_at_replies();
  const auto reply = run_one(*link, {"INCR", "count"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  proxy.pass();
  EXPECT_EQ(text_of(run_one(*link, {"GET", "count"})), "1");
  EXPECT_EQ(link->status().reconnects, 1U);
}

TEST(ServerLink, WaitsForAServerThatIsBusy) {
  RedisServer server({.arguments = {"--busy-reply-threshold", "10"}});
  const auto link = must_open(server.patient_url());
  std::thread busy([&] { server.call({"EVAL", "while true do end", "0"}); });
  ASSERT_TRUE(becomes_true(kPatience, [&] { return server.call({"PING"}).text.starts_with("BUSY"); }));
  std::thread killer([&] {
    std::this_thread::sleep_for(50ms);  // a server that is busy tells nothing of who asks it: long enough to be asked
    server.call({"SCRIPT", "KILL"});
  });
  EXPECT_EQ(text_of(run_one(*link, {"PING"})), "PONG");
  killer.join();
  busy.join();
}

TEST(ServerLink, WaitsForAReplicaToBecomeTheMaster) {
  RedisServer server;
  server.call({"REPLICAOF", "127.0.0.1", "1"});
  const auto hasty = open_when_calm(server.url() + "?timeout=100ms");
  expect_refusal(*hasty, "READONLY", {"SET", "a", "1"});

  const auto patient = must_open(server.patient_url());
  const std::string refused_before = server.info("errorstat_READONLY");
  std::thread promoter([&] {
    EXPECT_TRUE(becomes_true(kPatience, [&] { return server.info("errorstat_READONLY") != refused_before; }));
    server.call({"REPLICAOF", "NO", "ONE"});
  });
  EXPECT_EQ(text_of(run_one(*patient, {"SET", "a", "1"})), "OK");
  promoter.join();
}

TEST(ServerLink, OutOfMemoryIsAnAnswer) {
  RedisServer server({.arguments = {"--maxmemory", "1"}});
  const auto link = must_open(server.patient_url());
  const auto reply = run_one(*link, {"SET", "a", "1"});
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->is_error());
  EXPECT_TRUE(reply->text.starts_with("OOM"));
}

TEST(ServerLink, HasADatabaseAndAUser) {
  RedisServer server;
  server.call({"ACL", "SETUSER", "alice", "on", ">s3/cr:et", "~*", "&*", "+@all"});
  server.call({"ACL", "SETUSER", "default", "off"});
  const std::string at = "alice:s3%2Fcr%3Aet@" + server.address();
  const auto zero = must_open("redis://" + at + "?timeout=20s");
  const auto seven = must_open("redis://" + at + "/7?timeout=20s");
  EXPECT_EQ(text_of(run_one(*seven, {"SET", "a", "seven"})), "OK");
  EXPECT_EQ(run_one(*zero, {"GET", "a"})->type, wire::RespType::kNull);
  EXPECT_EQ(text_of(run_one(*seven, {"GET", "a"})), "seven");
  EXPECT_EQ(text_of(run_one(*zero, {"ACL", "WHOAMI"})), "alice");
}

TEST(ServerLink, SaysWhyItCannotBeOpened) {
  RedisServer server({.arguments = {"--requirepass", "right"}});
  RedisServer small({.arguments = {"--databases", "1"}});
  const struct {
    std::string url;
    std::string_view reason;
  } rows[] = {
      {"redis://:wrong@" + server.address() + "?timeout=20s", "refused the password: WRONGPASS"},
      {server.patient_url(), "put the password into the URL"},
      {small.url() + "/3?timeout=20s", "DB index is out of range"},
      {"redis://127.0.0.1:1", "connection refused; is the server running?"},
      {"redis+unix:///nowhere/redis.sock", "no such file"},
      // A server without TLS says nothing: this one is told when the time-out is over.
      {"rediss://" + small.address() + "?verify=no", "does the server speak TLS on this port?"},
      {"rediss://" + small.address() + "?ca=/nowhere", "parameter 'ca=': cannot use '/nowhere'"},
  };
  for (const auto& row : rows) {
    const auto link = open_link(row.url, store_scripts());
    ASSERT_FALSE(link) << row.url;
    EXPECT_NE(link.error().message.find(row.reason), std::string::npos) << link.error().message;
    EXPECT_EQ(link.error().message.find("wrong@"), std::string::npos) << link.error().message;
  }
}

TEST(ServerLink, OneNodeIsAllThereIs) {
  RedisServer server;
  const auto link = must_open(server.patient_url());
  Batch batch;
  batch.add("", {"DBSIZE"});
  Replies replies;
  EXPECT_EQ(link->run_on_node(0, batch, replies).value(), 1U);
  EXPECT_EQ(text_of(replies[0]), "0");
  EXPECT_FALSE(link->run_on_node(1, batch, replies));
  EXPECT_EQ(link->status().nodes, std::vector<std::string>{server.address()});
  EXPECT_EQ(link->status().shape, "server");
  EXPECT_EQ(link->status().connections, 1U);
}

TEST(ServerLink, HearsMessages) {
  RedisServer server;
  const auto link = must_open(server.patient_url());
  EXPECT_FALSE(link->wait_for_message("news", 1ms).value());
  server.call({"PUBLISH", "other", "x"});
  EXPECT_FALSE(link->wait_for_message("news", 1ms).value());
  server.call({"PUBLISH", "news", "x"});
  EXPECT_TRUE(link->wait_for_message("news", kPatience).value());
  EXPECT_FALSE(link->wait_for_message("news", 1ms).value());
}

TEST(ServerLink, HearsMessagesAgainAfterALoss) {
  RedisServer server;
  const auto link = must_open(server.patient_url());
  ASSERT_TRUE(link->wait_for_message("news", 1ms).has_value());
  server.kill_hard();
  ASSERT_TRUE(becomes_true(kPatience, [&] { return !link->wait_for_message("news", 1ms).has_value(); }));
  server.start_again();
  ASSERT_TRUE(becomes_true(kPatience, [&] { return link->wait_for_message("news", 1ms).has_value(); }));
  server.call({"PUBLISH", "news", "x"});
  EXPECT_TRUE(link->wait_for_message("news", kPatience).value());
}

TEST(ServerLink, NoticesThatNobodyIsThereToListenTo) {
  RedisServer server;
  const auto link = open_when_calm(server.url() + "?timeout=1s");
  ASSERT_TRUE(link->wait_for_message("news", 1ms).has_value());
  // As long as it answers, silence is no failure: longer than the time after which it is asked.
  EXPECT_FALSE(link->wait_for_message("news", 1500ms).value());
  server.pause();
  EXPECT_FALSE(link->wait_for_message("news", kPatience).has_value());
  server.resume();
}

TEST(ServerLink, ListeningCanBeStopped) {
  RedisServer server;
  const auto link = must_open(server.patient_url());
  ASSERT_TRUE(link->wait_for_message("news", 1ms).has_value());
  std::thread stopper([&] {
    std::this_thread::sleep_for(20ms);  // most often it listens by then; stopped before, it must return as well
    link->stop_listening();
  });
  EXPECT_LT(time_of([&] { EXPECT_FALSE(link->wait_for_message("news", kPatience).value()); }), 5s);
  stopper.join();
  EXPECT_FALSE(link->wait_for_message("news", kPatience).value());
}

}  // namespace
}  // namespace mete::store::redis
