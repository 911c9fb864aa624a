#include "server/envoy/rules.h"

#include <gtest/gtest.h>

#include "core/validate.h"

namespace mete::server::envoy {
namespace {

Result<Rules> read_rules(std::string text) { return Rules::read(std::vector<RulesFile>{{"f.yaml", std::move(text)}}); }

std::string rules_problem(std::string text) {
  const auto rules = read_rules(std::move(text));
  return rules ? "" : rules.error().message;
}

const Rule& only_rule(const Rules& rules) {
  const Level& level = rules.domains().begin()->second;
  return *(level.patterns.empty() ? level.exact.begin()->second : level.patterns.front()).rule;
}

// A rule of one descriptor, by what stands in its rate_limit.
Result<Rules> read_limit(const std::string& limit, const std::string& more = "") {
  return read_rules("domain: d\ndescriptors:\n  - key: k\n" + more + "    rate_limit: {" + limit + "}\n");
}

// "shop" with "x.y" and "shop.x" with "y" would be one limit, of which the second rule decides.
TEST(RulesTest, TwoRulesNeverMakeOneName) {
  const auto problem = [](const std::string& one, const std::string& other) {
    const std::string limit = "    rate_limit: {unit: day, requests_per_unit: 1}\n";
    const auto rules = Rules::read(std::vector<RulesFile>{{"a.yaml", one + limit}, {"b.yaml", other + limit}});
    return rules ? "" : rules.error().message;
  };
  const std::string shop = "domain: shop\ndescriptors:\n  - key: x.y\n";
  EXPECT_EQ(problem(shop, "domain: shop.x\ndescriptors:\n  - key: y\n"),
            "b.yaml:3: this rule's limit would have the name of the one at a.yaml:3, \"envoy.shop.x.y\": their domains "
            "and keys read the same when joined by dots");
  EXPECT_EQ(problem(shop, "domain: shop.x\ndescriptors:\n  - key: z\n"), "");
}

TEST(RulesTest, UnitsAreWindowsAndTrueCalendarPeriods) {
  struct Case {
    std::string limit;
    Limit expected;
  };
  const auto named = [](Limit limit) { return limit.durable(Durable::kEverySecond); };
  const std::vector<Case> cases = {
      {"unit: second, requests_per_unit: 5", named(window("envoy.d.k").amount(5).per(std::chrono::seconds(1)))},
      {"unit: MINUTE, requests_per_unit: 5", named(window("envoy.d.k").amount(5).per(std::chrono::minutes(1)))},
      {"unit: hour, requests_per_unit: 5", named(calendar("envoy.d.k").amount(5).per(Unit::kHour))},
      {"unit: day, requests_per_unit: 5", named(calendar("envoy.d.k").amount(5).per(Unit::kDay))},
      {"unit: week, requests_per_unit: 5", named(calendar("envoy.d.k").amount(5).per(Unit::kWeek))},
      {"unit: month, requests_per_unit: 5", named(calendar("envoy.d.k").amount(5).per(Unit::kMonth))},
      {"unit: year, requests_per_unit: 5", named(calendar("envoy.d.k").amount(5).per(Unit::kYear))},
      {"unit: minute, requests_per_unit: 20, mete: {period: 5m}",
       named(window("envoy.d.k").amount(20).per(std::chrono::minutes(5)))},
      {"unit: minute, requests_per_unit: 5, mete: {kind: bucket, burst: 20}",
       named(bucket("envoy.d.k").amount(5).per(std::chrono::minutes(1)).burst(20))},
      {"unit: minute, requests_per_unit: 5, mete: {kind: sliding, durable: never, on_fail: open}",
       sliding("envoy.d.k").amount(5).per(std::chrono::minutes(1)).durable(Durable::kNever).on_fail(OnFail::kOpen)},
      {"unit: month, requests_per_unit: 5, mete: {zone: Europe/Berlin, anchor: 15}",
       named(calendar("envoy.d.k").amount(5).per(Unit::kMonth).zone("Europe/Berlin").anchor(15))},
      {"mete: {kind: stock, amount: 9000000000}", named(stock("envoy.d.k").amount(9'000'000'000))},
      {"mete: {kind: window, amount: 3, period: 90s, scope: escrow}",
       named(window("envoy.d.k").amount(3).per(std::chrono::seconds(90)).scope(Scope::kEscrow))},
  };
  for (const Case& each : cases) {
    const auto rules = read_limit(each.limit);
    ASSERT_TRUE(rules.has_value()) << each.limit << ": " << rules.error().message;
    EXPECT_EQ(only_rule(*rules).limit, each.expected) << each.limit;
  }
}

TEST(RulesTest, AnswersTellAmountsOfThirtyTwoBits) {
  EXPECT_EQ(only_rule(*read_limit("unit: day, requests_per_unit: 4294967295")).requests_per_unit, 4'294'967'295U);
  EXPECT_EQ(only_rule(*read_limit("mete: {kind: stock, amount: 9000000000}")).requests_per_unit, 4'294'967'295U);
}

TEST(RulesTest, BlockedUnlimitedShadowAndQuota) {
  const auto blocked = read_limit("unit: day, requests_per_unit: 0");
  EXPECT_TRUE(only_rule(*blocked).is_blocked());
  const auto unlimited = read_limit("unlimited: true");
  EXPECT_TRUE(only_rule(*unlimited).is_unlimited);
  EXPECT_FALSE(only_rule(*unlimited).is_blocked());
  const auto shadow = read_limit("unit: day, requests_per_unit: 3", "    shadow_mode: true\n");
  EXPECT_TRUE(only_rule(*shadow).limit->is_shadow());
  EXPECT_TRUE(only_rule(*read_limit("unit: day, requests_per_unit: 3", "    quota_mode: true\n")).is_quota);
  EXPECT_EQ(only_rule(*read_limit("unit: day, requests_per_unit: 3, mete: {on_over: record}")).on_over,
            OnOver::kRecord);
}

TEST(RulesTest, NamesAndMetadataAreKept) {
  const auto rules = read_rules(
      "domain: d\ndescriptors:\n  - key: k\n    metadata: {plan: {name: gold, seats: 5, paid: true}}\n"
      "    rate_limit: {unit: day, requests_per_unit: 1, name: one, replaces: [{name: two}, {name: three}]}\n");
  ASSERT_TRUE(rules.has_value()) << rules.error().message;
  const Rule& rule = only_rule(*rules);
  EXPECT_EQ(rule.name, "one");
  EXPECT_EQ(rule.replaces, (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(rule.place, "f.yaml:3");
  std::string text;
  wire::JsonWriter(text).value({rule.metadata});
  EXPECT_EQ(text, R"({"plan":{"name":"gold","seats":5,"paid":true}})");
}

TEST(RulesTest, WhatTheOriginalRefusesIsRefusedWithItsPlace) {
  const std::string limit = "    rate_limit: {unit: day, requests_per_unit: 1}\n";
  struct Case {
    std::string text;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"descriptors: []\n", "f.yaml:1: domain is empty"},
      {"domain: ''\n", "f.yaml:1: domain is empty"},
      {"domain: d\ndescriptors:\n  - value: v\n" + limit, "f.yaml:3: a descriptor has no key"},
      {"domain: d\ndescriptors:\n  - {key: a, value: b}\n  - {key: a, value: b}\n",
       "f.yaml:4: the descriptor \"d.a_b\" is there twice"},
      {"domain: d\ndescriptors:\n  - {key: a, value: b*}\n  - {key: a, value: b*}\n",
       "f.yaml:4: the descriptor \"d.a_b*\" is there twice"},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: fortnight, requests_per_unit: 1}\n",
       "f.yaml:4: unit must be second, minute, hour, day, week, month or year, not \"fortnight\""},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {requests_per_unit: 1}\n",
       "f.yaml:4: unit must be second, minute, hour, day, week, month or year, not \"\""},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, unlimited: true}\n",
       "f.yaml:4: unit: a rule that is unlimited has none"},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: 1, replaces: [{name: "
       "''}]}\n",
       "f.yaml:4: replaces: a name is empty"},
      {"domain: d\ndescriptors:\n  - key: k\n"
       "    rate_limit: {unit: day, requests_per_unit: 1, name: x, replaces: [{name: x}]}\n",
       "f.yaml:4: replaces: the rule itself has the name \"x\""},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limits: {unit: day}\n",
       "f.yaml:4: unknown key \"rate_limits\"; did you mean 'rate_limit'?"},
      {"domain: d\ndescriptors:\n  - {key: k, 5: x}\n", "f.yaml:3: a key must be a text, not 5"},
      {"domain: d\ndescriptors:\n  - a\n  - b\n", "f.yaml:3: \"descriptors\" is a list of maps"},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, unit_multiplier: 2, requests_per_unit: 1}\n",
       "f.yaml:4: unknown key \"unit_multiplier\""},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: -1}\n",
       "f.yaml:4: requests_per_unit must be an integer from 0 to 4294967295"},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: many}\n",
       "f.yaml:4: requests_per_unit must be an integer from 0 to 4294967295"},
      {"domain: d\ndescriptors:\n  - key: k\n    shadow_mode: perhaps\n" + limit,
       "f.yaml:4: shadow_mode must be true or false"},
      {"domain: d\ndescriptors: {}\n", "f.yaml:2: descriptors must be a list"},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: 5\n", "f.yaml:4: rate_limit must be a map"},
      {"domain: [a]\n", "f.yaml:1: \"domain\" is a list of maps"},
      {"just a text\n", "f.yaml:1: a file is a map with domain and descriptors"},
      {"domain: d\ndomain: e\n", "f.yaml: line 2: \"domain\" stands twice in one map"},
      {"domain: d\ndescriptors:\n  - {key: k, share_threshold: true, value: v}\n",
       "f.yaml:3: share_threshold is for a value with a *: the values of \"k_v\" have one meter already"},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: 1, mete: {kind: "
       "buckets}}\n",
       "f.yaml:4: mete: kind must be \"bucket\", \"window\", \"sliding\", \"calendar\" or \"stock\""},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: second, requests_per_unit: 1, mete: {kind: "
       "calendar}}\n",
       "f.yaml:4: mete: period is missing: a calendar needs hour, day, week, month or year"},
      {"domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unlimited: true, mete: {kind: stock}}\n",
       "f.yaml:4: mete: a rule that is unlimited has no limit"},
  };
  for (const Case& each : cases) EXPECT_EQ(rules_problem(each.text), each.message) << each.text;
}

TEST(RulesTest, ADomainInTwoFilesIsAnErrorUnlessTheyAreMerged) {
  const std::vector<RulesFile> files = {{"a.yaml", "domain: d\ndescriptors: [{key: a}]\n"},
                                        {"b.yaml", "domain: d\ndescriptors: [{key: b}]\n"}};
  const auto refused = Rules::read(files);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "b.yaml:1: another file has the domain \"d\"");
  const auto merged = Rules::read(files, true);
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->find_domain("d")->exact.size(), 2U);
  const std::vector<RulesFile> twice = {files[0], files[0]};
  EXPECT_FALSE(Rules::read(twice, true).has_value());
}

TEST(RulesTest, NamesOfLimitsAreValidAndDiffer) {
  const std::string long_path(300, 'x');
  const std::vector<std::string> paths = {"d.k",           "d.k\n",         "d.k?",
                                          long_path + "a", long_path + "b", "d.\xc3\xa4" + long_path};
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    names.push_back(limit_name(path));
    EXPECT_TRUE(core::validate_name(names.back()).has_value()) << names.back();
    EXPECT_EQ(limit_name(path), names.back());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(limit_name("d.k"), "envoy.d.k");
}

}  // namespace
}  // namespace mete::server::envoy
