// One Mete server behind a store: what goes wrong on the way, and who may do what.
#include "store/mete/mete_store.h"
#include "store/keys.h"

#include <gtest/gtest.h>

#include <thread>

#include "serving/mete_server.h"
#include "store/embedded/embedded_store.h"
#include "store/open.h"
#include "support/proxy.h"
#include "support/waiting.h"
#include "unit/store/mete/fake_server.h"

namespace mete::store::servers {
namespace {

using namespace std::chrono_literals;
using serving::MeteServer;

std::unique_ptr<Store> in_memory() { return std::make_unique<EmbeddedStore>(Options{}); }

class PeerStoreTest : public ::testing::Test {
 protected:
  PeerStoreTest() {
    server_.store().define(stock("credits").amount(1'000)).value();
    server_.store().define(bucket("open").amount(10).per(1h).on_fail(OnFail::kOpen)).value();
  }
  [[nodiscard]] std::string proxied_url() const {
    return "mete://127.0.0.1:" + std::to_string(proxy_.port()) + "?timeout=2s";
  }
  [[nodiscard]] Amount used(std::string_view key) { return server_.store().usage({"credits", key}).value().used; }

  MeteServer server_{in_memory()};
  support::Proxy proxy_{server_.port()};
};

TEST_F(PeerStoreTest, TellsWhereItLies) {
  const auto store = open_store(server_.url(), {}).value();
  const RemoteStatus status = store->remote().value();
  EXPECT_EQ(status.shape, "mete");
  EXPECT_EQ(status.nodes, (std::vector<std::string>{server_.host()}));
  EXPECT_TRUE(status.is_reachable);
  EXPECT_EQ(status.connections, 1U);
}

TEST_F(PeerStoreTest, ItsTimeIsTheServers) {
  ManualClock clock(Instant::from_unix_seconds(2'000'000'000));
  MeteServer later(std::make_unique<EmbeddedStore>(Options{.clock = &clock}));
  const auto store = open_store(later.url(), {}).value();
  const Duration ahead = store->now() - clock.now();
  EXPECT_GE(ahead, Duration());
  EXPECT_LT(ahead, Duration(1min)) << "what this machine's clock has gone on since then";
}

TEST_F(PeerStoreTest, TakesAClockFromNobody) {
  const ManualClock clock{Instant()};
  const auto store = open_store(server_.url(), {.clock = &clock});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kInvalid);
}

TEST_F(PeerStoreTest, TellsHowTheMetersStandIfAsked) {
  const auto store = open_store(server_.url(), {}).value();
  const Charge charges[] = {{"credits", "a", 3}, {"open", "a", 1}};
  std::array<Usage, 2> usages{};
  ASSERT_TRUE(store->take({.charges = charges, .id = "once", .usages = usages}).value().is_allowed);
  EXPECT_EQ(usages[0], (Usage{.used = 3, .remaining = 997, .limit = 1'000, .reset_after = Duration::never()}));
  EXPECT_EQ(usages[1].remaining, 9);
  // An answer from before tells nothing of now.
  std::array<Usage, 2> untouched{};
  untouched[0].used = 77;
  ASSERT_TRUE(store->take({.charges = charges, .id = "once", .usages = untouched}).value().is_allowed);
  EXPECT_EQ(untouched[0].used, 77);
}

TEST_F(PeerStoreTest, ALostAnswerIsAskedForAgainOnlyWhereThatIsSafe) {
  const auto store = open_store(proxied_url(), {}).value();
  const struct {
    std::string key;
    std::string id;
    std::uint64_t attempts;  // on a connection of its own, beyond the first
  } rows[] = {{"with", "op-1", 1}, {"without", "", 0}};
  for (const auto& row : rows) {
    const Charge charge{"credits", row.key, 5};
    ASSERT_TRUE(store->take({.charges = {&charge, 1}, .mode = Mode::kPeek}).has_value()) << "a connection stands";
    const std::uint64_t before = proxy_.accepted();
    proxy_.cut_at_replies();
    const auto answer = store->take({.charges = {&charge, 1}, .id = row.id});
    proxy_.pass();
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(answer.error().message.find("not known"), std::string::npos) << answer.error().message;
    EXPECT_EQ(proxy_.accepted() - before, row.attempts) << row.key;
    EXPECT_EQ(used(row.key), 5) << "it did happen, and once";
  }
  const Charge charge{"credits", "with", 5};
  EXPECT_TRUE(store->take({.charges = {&charge, 1}, .id = "op-1"}).value().is_allowed);
  EXPECT_EQ(used("with"), 5);
}

TEST_F(PeerStoreTest, AConnectionThatWasCutMeanwhileIsNotNoticed) {
  const auto store = open_store(proxied_url(), {}).value();
  for (int i = 1; i <= 3; ++i) {
    proxy_.cut();
    const Charge charge{"credits", "a", 1};
    EXPECT_TRUE(support::becomes_true(10s, [&] { return store->take({.charges = {&charge, 1}}).has_value(); }));
  }
  EXPECT_GE(store->remote()->reconnects, 1U);
}

TEST_F(PeerStoreTest, WhileItIsAwayOpenLimitsAdmitAndOthersDoNot) {
  const auto store = open_store(proxied_url(), {}).value();
  const Charge open{"open", "a", 4};
  const Charge closed{"credits", "a", 4};
  ASSERT_TRUE(store->take({.charges = {&open, 1}}).has_value());
  ASSERT_TRUE(store->take({.charges = {&closed, 1}}).has_value());
  proxy_.refuse();
  const auto admitted = store->take({.charges = {&open, 1}});
  ASSERT_TRUE(admitted.has_value()) << admitted.error().message;
  EXPECT_TRUE(admitted->is_allowed);
  EXPECT_EQ(admitted->taken, 4);
  EXPECT_EQ(admitted->limit, 10);
  const Charge both[] = {open, closed};
  EXPECT_EQ(store->take({.charges = both}).error().code, ErrorCode::kUnavailable);
  std::array<Result<core::Verdict>, 2> each;
  store->take_each(both, each);
  EXPECT_TRUE(each[0].has_value());
  ASSERT_FALSE(each[1].has_value());
  EXPECT_EQ(each[1].error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store->statistics().unrecorded_admissions, 2U);
  EXPECT_FALSE(store->remote()->is_reachable);
  EXPECT_GE(store->remote()->failures, 3U);
  proxy_.pass();
  EXPECT_TRUE(support::becomes_true(10s, [&] { return store->take({.charges = {&closed, 1}}).has_value(); }));
  EXPECT_TRUE(store->remote()->is_reachable);
}

TEST_F(PeerStoreTest, ADenialIsNoAbsence) {
  const auto store = open_store(server_.url(), {}).value();
  const Charge charge{"open", "a", 10};
  ASSERT_TRUE(store->take({.charges = {&charge, 1}}).value().is_allowed);
  EXPECT_FALSE(store->take({.charges = {&charge, 1}}).value().is_allowed);
}

// No unit is lost or found by many callers at a time.
TEST_F(PeerStoreTest, ManyThreadsTakeExactlyWhatThereIs) {
  constexpr int kThreads = 24;
  constexpr int kTakes = 60;
  const auto store = open_store(server_.url(), {}).value();
  std::atomic<Amount> taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kTakes; ++j) {
        const Charge charge{"credits", "shared", 1};
        const auto verdict = store->take({.charges = {&charge, 1}});
        ASSERT_TRUE(verdict.has_value()) << verdict.error().message;
        if (verdict->is_allowed) ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 1'000) << "of " << kThreads * kTakes;
  EXPECT_EQ(used("shared"), 1'000);
}

TEST_F(PeerStoreTest, ThePasswordInTheUrlSaysWhoOneIs) {
  server::Config config;
  config.password = "admin's";
  config.use_password = "user's";
  MeteServer guarded(in_memory(), config);
  guarded.store().define(stock("credits").amount(10)).value();
  const auto nobody = open_store("mete://" + guarded.host() + "?timeout=20s", {});
  ASSERT_FALSE(nobody.has_value());
  EXPECT_EQ(nobody.error().code, ErrorCode::kInvalid);
  EXPECT_NE(nobody.error().message.find("put its password into the URL"), std::string::npos) << nobody.error().message;
  const auto wrong = open_store("mete://:guess@" + guarded.host() + "?timeout=20s", {});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("refused the password"), std::string::npos) << wrong.error().message;

  const auto user = open_store("mete://:user's@" + guarded.host() + "?timeout=20s", {}).value();
  const Charge charge{"credits", "a", 1};
  EXPECT_TRUE(user->take({.charges = {&charge, 1}}).value().is_allowed);
  const auto defined = user->define(stock("mine").amount(1));
  ASSERT_FALSE(defined.has_value());
  EXPECT_EQ(defined.error().code, ErrorCode::kInvalid);
  EXPECT_NE(defined.error().message.find("admin's password"), std::string::npos) << defined.error().message;
  guarded.store().keys().quota_set("quota", {.amount = 5, .window = 1min}).value();
  EXPECT_FALSE(user->keys().remove("quota").value()) << "a user's password does not reach quotas";
  EXPECT_TRUE(user->keys().set({.key = "quota", .value = 1}).value().is_out_of_reach);

  const auto admin = open_store("mete://:admin's@" + guarded.host() + "?timeout=20s", {}).value();
  EXPECT_TRUE(admin->define(stock("mine").amount(1)).has_value());
  EXPECT_FALSE(admin->keys().remove("quota", KeyReach::kAllButQuotas).value());
  EXPECT_TRUE(admin->keys().remove("quota").value());
}

TEST_F(PeerStoreTest, WhatIsNoMeteServerIsToldApart) {
  FakeServer other("-ERR unknown command 'STORE', with args beginning with: \r\n");
  const auto store = open_store(other.url(), {}).value();
  const auto usage = store->usage({"api", "a"});
  ASSERT_FALSE(usage.has_value());
  EXPECT_NE(usage.error().message.find("is no Mete server"), std::string::npos) << usage.error().message;
}

// Whatever a server of another version, or none at all, answers: an error that says so.
TEST_F(PeerStoreTest, RepliesOfAnotherShapeAreErrors) {
  const std::string_view replies[] = {
      "*0\r\n",
      "+OK\r\n",
      "$-1\r\n",
      "*1\r\n:1\r\n",
      "*6\r\n:1\r\n:1\r\n:2\r\n:3\r\n:4\r\n$1\r\n5\r\n",
      "*7\r\n:1\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n",
      "*2\r\n:1\r\n*1\r\n:1\r\n",
      "*2\r\n:1\r\n:9223372036854775807\r\n",
  };
  FakeServer server("");
  const auto store = open_store(server.url(), {}).value();
  for (const std::string_view reply : replies) {
    server.set_answer(std::string(reply));
    const auto expect_refused = [&](const auto& result, std::string_view what) {
      ASSERT_FALSE(result.has_value()) << what << " of " << reply;
      EXPECT_EQ(result.error().code, ErrorCode::kUnavailable) << what;
      EXPECT_NE(result.error().message.find("the same version"), std::string::npos) << result.error().message;
    };
    expect_refused(store->usage({"api", "a"}), "usage");
    expect_refused(store->cancel("id"), "cancel");
    expect_refused(store->holds({"api", "a"}, 10), "holds");
    expect_refused(store->oldest_holds(10), "oldest_holds");
    expect_refused(store->keys().expires_at("k"), "expires_at");
    expect_refused(store->keys().type("k"), "type");
    expect_refused(store->drop("api"), "drop");
    expect_refused(store->holds_tagged("t"), "holds_tagged");
    expect_refused(store->keys().quota_get("k"), "quota_get");
  }
}

TEST_F(PeerStoreTest, WhatIsNotRespAtAllIsAnError) {
  FakeServer server("HTTP/1.1 400 Bad Request\r\n\r\n");
  const auto store = open_store(server.url(), {}).value();
  const auto usage = store->usage({"api", "a"});
  ASSERT_FALSE(usage.has_value());
  EXPECT_EQ(usage.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(usage.error().message.find("does not speak RESP"), std::string::npos) << usage.error().message;
}

TEST_F(PeerStoreTest, NobodyThereIsSaid) {
  const auto store = open_store("mete://127.0.0.1:" + std::to_string(support::free_port()), {});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace mete::store::servers
