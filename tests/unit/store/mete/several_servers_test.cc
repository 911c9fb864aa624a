// Several Mete servers behind one store: who has what, and what goes on while one is away.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "serving/mete_server.h"
#include "store/embedded/embedded_store.h"
#include "store/keys.h"
#include "store/open.h"
#include "support/waiting.h"

namespace mete::store::servers {
namespace {

using namespace std::chrono_literals;
using serving::MeteServer;

class SeveralServers : public ::testing::Test {
 protected:
  static constexpr std::size_t kServers = 3;

  SeveralServers() {
    for (std::size_t i = 0; i < kServers; ++i) start(i);
    std::string url = "mete://";
    for (const auto& server : servers_) url += (url.ends_with('/') ? "" : ",") + server->host();
    store_ = open_store(url + "?timeout=2s", {}).value();
    store_->define(stock("credits").amount(100)).value();
    store_->define(stock("storage").amount(100)).value();
  }

  void start(std::size_t number, std::uint16_t port = 0) {
    servers_[number].emplace(std::make_unique<EmbeddedStore>(Options{}), server::Config(), port);
  }
  // A server that goes with all it has, and an empty one that comes in its place.
  std::uint16_t stop(std::size_t number) {
    const std::uint16_t port = servers_[number]->port();
    servers_[number].reset();
    return port;
  }

  Result<core::Verdict> take(std::string_view key, Amount cost = 1) {
    const Charge charge{"credits", key, cost};
    return store_->take({.charges = {&charge, 1}});
  }
  Result<core::Verdict> hold(std::string_view key, std::string_view id, std::string_view tag = {}) {
    const Charge charge{"credits", key, 1};
    return store_->hold({.charges = {&charge, 1}, .ttl = 1h, .id = id, .tag = tag});
  }
  // Which servers have a meter of this key: one, if all is right.
  std::vector<std::size_t> homes_of(std::string_view key) {
    std::vector<std::size_t> homes;
    for (std::size_t i = 0; i < kServers; ++i) {
      const Usage usage = servers_[i]->store().usage({"credits", key}).value();
      if (usage.used + usage.held > 0) homes.push_back(i);
    }
    return homes;
  }
  // A key that is at this server, and nothing is used of it.
  std::string key_at(std::size_t server) {
    for (int i = 0;; ++i) {
      std::string key = "probe" + std::to_string(i);
      if (!homes_of(key).empty()) continue;
      take(key).value();
      const auto homes = homes_of(key);
      EXPECT_EQ(homes.size(), 1U);
      const Charge charge{"credits", key, 1};
      store_->give({&charge, 1}, {}).value();
      if (homes == std::vector{server}) return key;
    }
  }

  std::array<std::optional<MeteServer>, kServers> servers_;
  std::unique_ptr<Store> store_;
};

TEST_F(SeveralServers, EachKeyIsAtOneOfThemAndEachHasSome) {
  std::map<std::size_t, int> shares;
  for (int i = 0; i < 60; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_EQ(take(key, 7).value().remaining, 93);
    const auto homes = homes_of(key);
    ASSERT_EQ(homes.size(), 1U) << key;
    ++shares[homes[0]];
    EXPECT_EQ(store_->usage({"credits", key}).value().used, 7);
  }
  EXPECT_EQ(shares.size(), kServers);
}

TEST_F(SeveralServers, TakesThatComeTogetherGoWhereTheyBelong) {
  std::vector<std::string> keys;
  for (int i = 0; i < 700; ++i) keys.push_back("k" + std::to_string(i % 350));
  std::vector<Charge> charges;
  for (const std::string& key : keys) charges.push_back({"credits", key, 60});
  charges.push_back({"unknown", "k1", 1});
  std::vector<Result<core::Verdict>> answers(charges.size());
  store_->take_each(charges, answers);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(answers[i].has_value()) << answers[i].error().message;
    EXPECT_EQ(answers[i]->is_allowed, i < 350) << "the second of each key does not fit";
  }
  ASSERT_FALSE(answers.back().has_value());
  EXPECT_EQ(answers.back().error().code, ErrorCode::kNoLimit);
}

TEST_F(SeveralServers, ShiftsGoWhereTheyBelong) {
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) keys.push_back("k" + std::to_string(i));
  std::vector<Shift> shifts;
  for (const std::string& key : keys) shifts.push_back({.key = key, .change = 3});
  std::vector<Result<Shifted>> answers(shifts.size());
  store_->shift({.limit = "credits", .since = store_->now(), .shifts = shifts, .answers = answers});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(answers[i].has_value()) << answers[i].error().message;
    EXPECT_EQ(homes_of(keys[i]).size(), 1U);
    EXPECT_EQ(store_->usage({"credits", keys[i]}).value().used, 3);
  }
}

TEST_F(SeveralServers, ChargesOnDifferentServersAreAllOrNothing) {
  const std::string one = key_at(0);
  const std::string other = key_at(1);
  const std::string third = key_at(2);
  const Charge apart[] = {{"credits", one, 30}, {"credits", other, 60}, {"storage", third, 10}};
  const auto used = [&](std::string_view key) { return store_->usage({"credits", key}).value().used; };
  const Take with_id{.charges = apart, .id = "op"};
  EXPECT_FALSE(store_->recall(with_id).value().has_value());
  std::array<Usage, 3> usages;
  const auto taken = store_->take({.charges = apart, .id = "op", .usages = usages}).value();
  EXPECT_TRUE(taken.is_allowed);
  EXPECT_EQ(taken.taken, 100);
  EXPECT_EQ(taken.remaining, 40);
  EXPECT_EQ(usages[2].remaining, 90);
  EXPECT_EQ(store_->take(with_id).value(), taken) << "the same again";
  EXPECT_EQ(store_->recall(with_id).value(), taken);
  const auto denied = store_->take({.charges = apart}).value();
  EXPECT_FALSE(denied.is_allowed);
  EXPECT_EQ(denied.violated, 0b010);
  EXPECT_EQ(store_->take({.charges = apart, .mode = Mode::kPeek}).value(), denied);
  EXPECT_EQ(used(one), 30);
  EXPECT_EQ(used(other), 60);
  EXPECT_EQ(homes_of(other), std::vector<std::size_t>{1});
  EXPECT_EQ(store_->give(apart, "back").value().amount, 100);
  EXPECT_EQ(store_->give(apart, "back").value().amount, 100);
  EXPECT_TRUE(store_->take({.charges = apart, .mode = Mode::kForce}).value().is_allowed);
  EXPECT_EQ(used(other), 60);
  stop(1);
  EXPECT_EQ(store_->take({.charges = apart}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->give(apart, {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(used(one), 30);
}

TEST_F(SeveralServers, AHoldIsAtOneServerAndATagMendsIt) {
  const std::string one = key_at(0);
  const std::string other = key_at(1);
  const Charge apart[] = {{"credits", one, 1}, {"storage", other, 1}};
  const auto refused = store_->hold({.charges = apart, .ttl = 1h, .id = "x"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  for (const std::string_view word : {std::string_view(one), std::string_view(other), std::string_view("braces")}) {
    EXPECT_NE(refused.error().message.find(word), std::string::npos) << refused.error().message;
  }
  EXPECT_TRUE(homes_of(one).empty());
  for (int i = 0; i < 20; ++i) {
    const std::string first = "{acme" + std::to_string(i) + "}:credits";
    const std::string second = "storage of {acme" + std::to_string(i) + "}";
    const Charge together[] = {{"credits", first, 1}, {"storage", second, 1}};
    const auto verdict = store_->hold({.charges = together, .ttl = 1h, .id = first});
    ASSERT_TRUE(verdict.has_value()) << verdict.error().message;
    EXPECT_TRUE(verdict->is_allowed);
  }
}

TEST_F(SeveralServers, ARandomIdTellsWhereItsHoldIs) {
  std::vector<std::pair<std::string, std::string>> holds;  // id, key
  for (std::size_t server = 0; server < kServers; ++server) {
    const std::string key = key_at(server);
    const Charge charge{"credits", key, 1};
    holds.emplace_back(store_->new_hold_id({&charge, 1}), key);
    ASSERT_TRUE(hold(key, holds.back().first).value().is_allowed);
    EXPECT_EQ(homes_of(key), std::vector{server});
  }
  // Each is found at once: the others are not even asked, so it does not matter that they are away.
  stop(1);
  stop(2);
  EXPECT_EQ(store_->find_hold(holds[0].first).value().value().charges[0].key, holds[0].second);
  EXPECT_EQ(store_->commit({.id = holds[0].first}).value().amount, 1);
  EXPECT_EQ(store_->find_hold(holds[1].first).error().code, ErrorCode::kUnavailable);
}

TEST_F(SeveralServers, AGivenIdIsFoundWhereverItIs) {
  std::set<std::string> ids;
  for (std::size_t server = 0; server < kServers; ++server) {
    const std::string key = key_at(server);
    for (int i = 0; i < 4; ++i) {
      const std::string id = "job-" + std::to_string(server) + "-" + std::to_string(i);
      ASSERT_TRUE(hold(key, id, "nightly").value().is_allowed);
      EXPECT_TRUE(hold(key, id, "nightly").value().is_allowed) << "the same again is the same hold";
      ids.insert(id);
    }
    EXPECT_EQ(store_->holds({"credits", key}, 100).value().size(), 4U);
  }
  const auto tagged = store_->holds_tagged("nightly").value();
  EXPECT_EQ(std::set(tagged.begin(), tagged.end()), ids);
  EXPECT_EQ(store_->oldest_holds(100).value().size(), ids.size());
  EXPECT_EQ(store_->oldest_holds(2).value().size(), 2U);
  for (const std::string& id : ids) {
    EXPECT_TRUE(store_->find_hold(id).value().has_value()) << id;
    EXPECT_EQ(store_->extend(id, 2h).value(), Duration(2h));
    EXPECT_EQ(store_->cancel(id).value().amount, 1);
    EXPECT_EQ(store_->cancel(id).value().amount, 1) << "the same again";
    const auto late = store_->commit({.id = id});
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().code, ErrorCode::kNoHold);
    EXPECT_NE(late.error().message.find("cancelled"), std::string::npos) << late.error().message;
  }
  EXPECT_FALSE(store_->find_hold("nobody's").value().has_value());
  EXPECT_EQ(store_->commit({.id = "nobody's"}).error().code, ErrorCode::kNoHold);
}

TEST_F(SeveralServers, ListingsGoThroughAllOfThem) {
  std::set<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "k" + std::to_string(i);
    take(key).value();
    ASSERT_TRUE(store_->keys().set({.key = key, .value = i}).value().is_set);
    expected.insert(key);
  }
  std::multiset<std::string> metered;
  std::uint64_t cursor = 0;
  do {
    const UsagePage page = store_->scan("credits", cursor, 10).value();
    for (const KeyUsage& each : page.keys) metered.insert(each.key);
    cursor = page.cursor;
  } while (cursor != 0);
  EXPECT_EQ(std::vector(metered.begin(), metered.end()), std::vector(expected.begin(), expected.end()));
  std::multiset<std::string> keys;
  do {
    const KeyPage page = store_->keys().scan(cursor, 10).value();
    for (const core::ListedKey& each : page.keys) keys.insert(each.key);
    cursor = page.cursor;
  } while (cursor != 0);
  EXPECT_EQ(std::vector(keys.begin(), keys.end()), std::vector(expected.begin(), expected.end()));
  EXPECT_EQ(store_->keys().size().value(), expected.size());
  EXPECT_EQ(store_->statistics().meters, expected.size());
  EXPECT_EQ(store_->limits()->size(), 2U);
  store_->clear().value();
  EXPECT_EQ(store_->statistics().meters, 0U);
  EXPECT_EQ(store_->keys().size().value(), 0U);
}

TEST_F(SeveralServers, WhileOneIsAwayOnlyItsKeysAre) {
  std::vector<std::string> keys;
  for (std::size_t server = 0; server < kServers; ++server) keys.push_back(key_at(server));
  const std::string host = servers_[1]->host();
  const std::uint16_t port = stop(1);
  for (std::size_t server = 0; server < kServers; ++server) {
    const auto verdict = take(keys[server]);
    ASSERT_EQ(verdict.has_value(), server != 1) << server;
    if (!verdict.has_value()) {
      EXPECT_EQ(verdict.error().code, ErrorCode::kUnavailable);
    }
  }
  // What every one of them has is there; what may be at any of them is not known.
  EXPECT_EQ(store_->limits().value(), (std::vector<std::string>{"credits", "storage"}));
  EXPECT_TRUE(store_->limit("credits").value().has_value());
  EXPECT_EQ(store_->holds_tagged("t").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->find_hold("nobody's").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->clear().error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(store_->remote()->is_reachable);
  const auto defined = store_->define(stock("new").amount(1));
  ASSERT_FALSE(defined.has_value());
  EXPECT_EQ(defined.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(defined.error().message.find(host), std::string::npos) << defined.error().message;
  const auto dropped = store_->drop("storage");
  ASSERT_FALSE(dropped.has_value());
  EXPECT_NE(dropped.error().message.find(host), std::string::npos) << dropped.error().message;

  start(1, port);
  EXPECT_TRUE(support::becomes_true(10s, [&] { return store_->define(stock("credits").amount(100)).has_value(); }));
  EXPECT_TRUE(take(keys[1]).value().is_allowed);
  EXPECT_TRUE(store_->define(stock("new").amount(1)).has_value()) << "repeated, it is everywhere";
  for (auto& server : servers_) EXPECT_TRUE(server->store().limit("new").value().has_value());
}

TEST_F(SeveralServers, OneThatAnswersIsEnoughToBegin) {
  const std::uint16_t port = stop(2);
  const std::string away = "127.0.0.1:" + std::to_string(port);
  const auto store = open_store("mete://" + away + "," + servers_[0]->host() + "?timeout=2s", {});
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_FALSE((*store)->remote()->is_reachable);
  const auto none = open_store("mete://" + away + "?timeout=2s", {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace mete::store::servers
