// Handles answer as the names that they were made of, whatever becomes of the limit meanwhile. What must not compile is
// for tests/integration/embed_api_test.py.
#include <gtest/gtest.h>
#include <mete/mete.h>

#include <unistd.h>

#include <filesystem>
#include <future>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/caller.h"
#include "store/embedded/embedded_store.h"

namespace mete {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLimits[] = {"bucket", "window", "sliding", "calendar", "stock", "shadow", "comes and goes"};
const std::string kKeys[] = {"alice", "bob", "a key that is a little longer than most", "", std::string(600, 'k')};

struct World {
  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};
  Limiter limiter = open("embedded:", {.clock = &clock}).value();
};

Limit limit_of(std::string_view name, Amount amount) {
  if (name == "bucket") return bucket(name).amount(amount).per(1s).burst(2 * amount);
  if (name == "window") return window(name).amount(amount).per(1s);
  if (name == "sliding") return sliding(name).amount(amount).per(1s);
  if (name == "calendar") return calendar(name).amount(100 * amount).per(Unit::kDay);
  if (name == "shadow") return stock(name).amount(amount).shadow();
  return stock(name).amount(10 * amount);
}

// Anything but a take, the same in each world.
void change(std::mt19937_64& random, std::span<World*> worlds) {
  const std::string_view name = kLimits[random() % std::size(kLimits)];
  const std::string& key = kKeys[random() % 3];
  const auto amount = static_cast<Amount>(1 + random() % 20);
  const std::uint64_t what = random() % 8;
  const std::string id = std::to_string(random());
  for (World* world : worlds) {
    Limiter& limiter = world->limiter;
    if (what == 0) std::ignore = limiter.define(limit_of(name, amount));
    if (what == 1) std::ignore = limiter.drop("comes and goes");
    if (what == 2) std::ignore = limiter.override_amount(name, key, amount);
    if (what == 3) std::ignore = limiter.clear_override(name, key);
    if (what == 4) std::ignore = limiter.hold(name, key, amount, 1s, {.id = id});
    if (what == 5) std::ignore = limiter.give(name, key, amount);
    if (what == 6) std::ignore = limiter.reconcile(name, key, amount);
    if (what == 7) world->clock.advance(Duration::from_ns(static_cast<std::int64_t>(amount) * 50'000'000));
  }
}

void expect_same(const Result<Decision>& by_name, const Result<MeterDecision>& by_handle) {
  ASSERT_EQ(by_name.has_value(), by_handle.has_value());
  if (!by_name.has_value()) {
    EXPECT_EQ(by_name.error(), by_handle.error());
    return;
  }
  const MeterDecision expected = {.is_allowed = by_name->is_allowed,
                                  .is_violated = !by_name->violated.empty(),
                                  .is_unrecorded = by_name->is_unrecorded,
                                  .taken = by_name->taken,
                                  .remaining = by_name->remaining,
                                  .limit = by_name->limit,
                                  .retry_after = by_name->retry_after,
                                  .reset_after = by_name->reset_after};
  EXPECT_EQ(by_handle.value(), expected);
}

template <class Allow>
Result<bool> allowed(Allow allow) {
  try {
    return allow();
  } catch (const Failure& failure) {
    return failure.error();
  }
}

TEST(Handles, AnswerAsTheirNamesDo) {
  World by_name;
  World by_limit;
  World by_meter;
  World by_allow;
  World* worlds[] = {&by_name, &by_limit, &by_meter, &by_allow};
  std::map<std::string_view, LimitHandle> limits;
  using Meter = std::pair<std::string_view, std::string_view>;
  std::map<Meter, MeterHandle> meters;
  std::map<Meter, MeterHandle> allowing;
  for (const std::string_view name : kLimits) {  // before any of them is defined
    limits.emplace(name, by_limit.limiter.limit(name));
    for (const std::string& key : kKeys) {
      meters.emplace(Meter(name, key), by_meter.limiter.meter(name, key));
      allowing.emplace(Meter(name, key), by_allow.limiter.limit(name).meter(key));
    }
  }
  std::mt19937_64 random(11);
  std::size_t counts[3] = {};
  for (int i = 0; i < 30'000; ++i) {
    SCOPED_TRACE(i);
    if (random() % 4 == 0) change(random, worlds);
    const std::string_view name = kLimits[random() % std::size(kLimits)];
    const std::string& key = kKeys[random() % 50 == 0 ? 3 + random() % 2 : random() % 3];
    const Amount cost = random() % 50 == 0 ? -1 : static_cast<Amount>(random() % 4);
    const auto expected = by_name.limiter.take(name, key, cost);
    expect_same(expected, limits.at(name).take(key, cost));
    expect_same(expected, meters.at({name, key}).take(cost));
    const auto is_allowed = allowed([&] {
      return i % 2 == 0 ? allowing.at({name, key}).allow(cost) : by_allow.limiter.limit(name).allow(key, cost);
    });
    ASSERT_EQ(is_allowed.has_value(), expected.has_value());
    if (expected.has_value()) {
      ASSERT_EQ(is_allowed.value(), expected->is_allowed);
    } else {
      ASSERT_EQ(is_allowed.error(), expected.error());
    }
    ++counts[!expected.has_value() ? 0 : expected->is_allowed ? 1 : 2];
    if (HasFailure()) return;
  }
  for (const std::size_t count : counts) EXPECT_GT(count, 1000U);
}

TEST(Handles, TellTheirNames) {
  Limiter limiter = open("embedded:").value();
  EXPECT_EQ(limiter.limit("api").name(), "api");
  EXPECT_EQ(limiter.meter("api", "alice").limit(), "api");
  EXPECT_EQ(limiter.limit("api").meter("alice").key(), "alice");
}

TEST(Handles, OutliveAMoveOfTheLimiter) {
  Limiter first = open("embedded:").value();
  first.define(stock("credits").amount(2)).value();
  const LimitHandle credits = first.limit("credits");
  const MeterHandle alice = credits.meter("alice");
  Limiter second = std::move(first);
  EXPECT_TRUE(credits.allow("alice"));
  EXPECT_TRUE(alice.allow());
  EXPECT_FALSE(alice.allow());
  EXPECT_EQ(second.usage("credits", "alice")->used, 2);
}

// A durable take is on disk when it returns, by a handle too: the first, which makes the meter, and those after it.
TEST(Handles, WhatMustBeOnDiskIsThere) {
  const auto directory = std::filesystem::temp_directory_path() / ("mete-handles-" + std::to_string(::getpid()));
  std::filesystem::remove_all(directory);
  const std::string url = "embedded:" + directory.string();
  {
    Limiter limiter = open(url).value();
    limiter.define(stock("credits").amount(10)).value();
    const MeterHandle alice = limiter.meter("credits", "alice");
    EXPECT_TRUE(alice.allow(3));
    EXPECT_TRUE(alice.allow(2));
    EXPECT_EQ(alice.take(4)->remaining, 1);
    // A copy of what is on disk by now, as a crash would leave it.
    std::filesystem::copy(directory, directory.string() + "-copy", std::filesystem::copy_options::recursive);
  }
  const auto reopened = open(url + "-copy");
  EXPECT_EQ(reopened->usage("credits", "alice")->used, 9);
  std::filesystem::remove_all(directory);
  std::filesystem::remove_all(directory.string() + "-copy");
}

// Within a started call the handle is of the call: nobody waits for the disk there.
TEST(Handles, AreMadeInAStartedCall) {
  Limiter limiter = open("embedded:").value();
  limiter.define(stock("credits").amount(1)).value();
  std::promise<bool> answer;
  limiter.start([](Limiter& called) { return called.limit("credits").take("alice"); },
                [&](Result<MeterDecision> decision) { answer.set_value(decision->allowed()); });
  EXPECT_TRUE(answer.get_future().get());
  EXPECT_FALSE(limiter.allow("credits", "alice"));
}

// As every other call: what nodes keep for themselves is no limit to a program.
TEST(Handles, ReachNoReservedLimit) {
  auto store = std::make_unique<store::EmbeddedStore>(Options());
  store::EmbeddedStore& kept = *store;
  ASSERT_TRUE(kept.define(stock("mete.nodes").amount(10)).has_value());
  Limiter limiter(std::move(store));
  EXPECT_EQ(limiter.usage("mete.nodes", "a").error().code, ErrorCode::kNoLimit);
  EXPECT_EQ(limiter.take("mete.nodes", "a").error().code, ErrorCode::kNoLimit);
  EXPECT_THROW(std::ignore = limiter.allow("mete.nodes", "a"), Failure);
  EXPECT_EQ(limiter.limit("mete.nodes").take("a").error().code, ErrorCode::kNoLimit);
  EXPECT_THROW(std::ignore = limiter.limit("mete.nodes").allow("a"), Failure);
  EXPECT_EQ(limiter.meter("mete.nodes", "a").take().error().code, ErrorCode::kNoLimit);
  EXPECT_THROW(std::ignore = limiter.meter("mete.nodes", "a").allow(), Failure);
  EXPECT_EQ((*limiter.take_each({{"mete.nodes", "a"}}))[0].error().code, ErrorCode::kNoLimit);
  EXPECT_EQ(kept.usage({"mete.nodes", "a"})->used, 0);
}

// Its amount is no bound of anybody's.
TEST(Handles, ReachNoReservedKey) {
  auto store = std::make_unique<store::EmbeddedStore>(Options());
  store::EmbeddedStore& kept = *store;
  ASSERT_TRUE(kept.define(stock("api").amount(10)).has_value());
  ASSERT_TRUE(kept.set_override({"api", "mete-generation"}, 1'000'000).has_value());
  Limiter limiter(std::move(store));
  constexpr std::string_view kKey = "mete-generation";
  EXPECT_EQ(limiter.usage("api", kKey).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(limiter.take("api", kKey, 100).error().code, ErrorCode::kInvalid);
  EXPECT_THROW(std::ignore = limiter.allow("api", kKey), Failure);
  EXPECT_EQ(limiter.limit("api").take(kKey).error().code, ErrorCode::kInvalid);
  EXPECT_THROW(std::ignore = limiter.limit("api").allow(kKey), Failure);
  EXPECT_EQ(limiter.meter("api", kKey).take().error().code, ErrorCode::kInvalid);
  EXPECT_THROW(std::ignore = limiter.meter("api", kKey).allow(), Failure);
  const auto each = limiter.take_each({{"api", kKey}, {"api", "alice"}}).value();
  EXPECT_EQ(each[0].error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(each[1]->allowed());
  // What is brought from elsewhere, key by key.
  const core::Shift shifts[] = {{kKey, 5}, {"bob", 5}};
  Result<core::Shifted> shifted[2] = {core::Shifted(), core::Shifted()};
  store::Execution execution;
  ASSERT_TRUE(store::run_for_client(kept, core::ShiftUsage{"api", kept.now(), shifts, shifted}, execution).has_value());
  EXPECT_EQ(shifted[0].error().code, ErrorCode::kInvalid);
  EXPECT_EQ(shifted[1]->change, 5);
  EXPECT_EQ(kept.usage({"api", kKey})->used, 0);
}

TEST(TakeEach, AnswersEachByItself) {
  Limiter limiter = open("embedded:").value();
  limiter.define(stock("credits").amount(3)).value();
  const auto answers =
      limiter.take_each({{"credits", "alice", 2}, {"none", "alice"}, {"credits", "alice", 2}, {"credits", "alice"}})
          .value();
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0]->remaining, 1);
  EXPECT_EQ(answers[1].error().code, ErrorCode::kNoLimit);
  EXPECT_FALSE(answers[2]->allowed());
  EXPECT_EQ(answers[2]->violated, std::vector<std::string>{"credits"});
  EXPECT_EQ(answers[3]->remaining, 0);
  EXPECT_TRUE(limiter.take_each({})->empty());
}

TEST(TakeEach, HasABound) {
  Limiter limiter = open("embedded:").value();
  limiter.define(stock("credits").amount(10'000)).value();
  std::vector<Charge> charges(kTakesMax, {"credits", "alice"});
  EXPECT_EQ(limiter.take_each(charges)->size(), kTakesMax);
  charges.push_back({"credits", "alice"});
  EXPECT_EQ(limiter.take_each(charges).error(),
            (Error{ErrorCode::kInvalid, "takes: a call has at most 1000, not 1001"}));
  EXPECT_EQ(limiter.usage("credits", "alice")->used, static_cast<Amount>(kTakesMax)) << "refused as a whole";
}

}  // namespace
}  // namespace mete
