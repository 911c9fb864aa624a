#include "server/envoy/match.h"

#include <gtest/gtest.h>

#include <set>

namespace mete::server::envoy {
namespace {

constexpr std::string_view kRules = R"(
domain: d
descriptors:
  - key: tenant
    rate_limit: {unit: minute, requests_per_unit: 1}
    descriptors:
      - key: path
        value: /login
        rate_limit: {unit: minute, requests_per_unit: 2}
      - key: path
        rate_limit: {unit: minute, requests_per_unit: 3}
  - key: tenant
    value: gold
    rate_limit: {unit: minute, requests_per_unit: 4, name: gold, replaces: [{name: all}]}
  - key: file
    value: a/*
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: file
    value: a/b/*
    rate_limit: {unit: minute, requests_per_unit: 6}
  - key: shared
    value: "*.js"
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 7}
  - key: all
    rate_limit: {unit: minute, requests_per_unit: 8, name: all}
  - key: group
    descriptors:
      - key: user
        rate_limit: {unit: minute, requests_per_unit: 9}
)";

class MatchTest : public ::testing::Test {
 protected:
  // "5 x": the requests per unit of the rule, and the meter's key; empty where nothing limits.
  std::string match(const std::vector<Entry>& entries) {
    std::string composite;
    const Match found = match_one(*rules_.find_domain("d"), entries, composite);
    return found.rule == nullptr ? "" : std::to_string(found.rule->requests_per_unit) + " " + found.key;
  }

  Rules rules_ = Rules::read(std::vector<RulesFile>{{"f.yaml", std::string(kRules)}}).value();
};

TEST_F(MatchTest, FindsTheMostExactRule) {
  struct Case {
    std::vector<Entry> entries;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {{{"tenant", "acme"}}, "1 acme"},
      {{{"tenant", "gold"}}, "4 -"},
      {{{"tenant", "acme"}, {"path", "/login"}}, "2 acme"},
      {{{"tenant", "acme"}, {"path", "/other"}}, "3 acme,/other"},
      {{{"tenant", "gold"}, {"path", "/login"}}, ""},  // the level of the exact value has nothing below it
      {{{"tenant", "acme"}, {"path", "/login"}, {"more", "x"}}, ""},
      {{{"file", "a/b/c"}}, "5 a/b/c"},  // the first pattern in the file's order
      {{{"file", "b"}}, ""},
      {{{"shared", "x.js"}}, "7 -"},
      {{{"shared", "y.js"}}, "7 -"},
      {{{"shared", "y.css"}}, ""},
      {{{"group", "g"}}, ""},  // no rule on this level
      {{{"group", "g"}, {"user", "u"}}, "9 g,u"},
      {{{"nobody", "x"}}, ""},
      {{}, ""},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(match(each.entries), each.expected)
        << each.entries.size() << " entries, first " << (each.entries.empty() ? "" : each.entries[0].value);
  }
}

TEST_F(MatchTest, ValuesThatDifferHaveMetersThatDiffer) {
  const std::vector<std::pair<std::string_view, std::string_view>> values = {
      {"a,b", "c"}, {"a", "b,c"}, {"a%2Cb", "c"}, {"", "c"}, {"%", "c"}, {"a", ""}, {"", ""}, {",", ""}, {"%25", "c"}};
  std::vector<std::string> keys;
  for (const auto& [group, user] : values) keys.push_back(match({{"group", group}, {"user", user}}));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST_F(MatchTest, LongValuesHaveKeysOfTheirOwn) {
  const std::string base(1'000, 'x');
  const std::string one = match({{"all", base + "1"}});
  const std::string two = match({{"all", base + "2"}});
  EXPECT_NE(one, two);
  EXPECT_EQ(one.size(), 2 + kKeyBytesMax);
}

TEST_F(MatchTest, ARuleThatIsReplacedIsLeftOut) {
  const std::vector<Entry> gold = {{"tenant", "gold"}};
  const std::vector<Entry> all = {{"all", "x"}};
  const std::vector<DescriptorAsked> both = {{gold, {}}, {all, {}}};
  const auto matches = match_all(*rules_.find_domain("d"), both);
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].rule->requests_per_unit, 4U);
  EXPECT_EQ(matches[1].rule, nullptr);
  const std::vector<DescriptorAsked> alone = {{all, {}}};
  EXPECT_NE(match_all(*rules_.find_domain("d"), alone)[0].rule, nullptr);
}

TEST_F(MatchTest, ARequestMayBringItsLimit) {
  const std::vector<Entry> entries = {{"tenant", "acme"}, {"path", "/x"}};
  const Rule rule = rule_of("d", entries, {42, RateUnit::kHour});
  EXPECT_EQ(rule.limit->name(), "envoy:d.tenant.path/HOUR");
  EXPECT_EQ(rule.limit->unit(), Unit::kHour);
  EXPECT_EQ(key_of_all(entries), "acme,/x");
  EXPECT_TRUE(rule_of("d", entries, {0, RateUnit::kHour}).is_blocked());
  EXPECT_EQ(rule_of("d", entries, {7, RateUnit::kHour}).limit->name(), rule.limit->name());
  EXPECT_NE(rule_of("d", entries, {42, RateUnit::kDay}).limit->name(), rule.limit->name());
}

// No two lists of a domain and keys make one name.
TEST_F(MatchTest, LimitsOfRequestsHaveNamesOfTheirOwn) {
  const auto name_of = [](std::string_view domain, const std::vector<Entry>& entries) {
    return rule_of(domain, entries, {1, RateUnit::kHour}).limit->name();
  };
  const std::set<std::string> names = {name_of("shop", {{"x.y", ""}}), name_of("shop.x", {{"y", ""}}),
                                       name_of("shop", {{"x", ""}, {"y", ""}}), name_of("shop", {{"x%2Ey", ""}})};
  EXPECT_EQ(names.size(), 4);
}

TEST(PatternTest, StarsStandForAnyBytes) {
  struct Case {
    std::string_view text;
    std::string_view pattern;
    bool fits;
  };
  const std::vector<Case> cases = {
      {"abc", "abc", true},
      {"abc", "ab", false},
      {"abc", "a*", true},
      {"a", "a*", true},
      {"abc", "*c", true},
      {"abc", "a*c", true},
      {"ac", "a*c", true},
      {"a", "a*a", false},
      {"abcbc", "a*bc", true},
      {"svcXepYrpc", "svc*ep*rpc", true},
      {"svcXrpcYep", "svc*ep*rpc", false},
      {"abab", "ab*ab*ab", false},
      {"", "*", true},
      {"x", "**", true},
  };
  for (const Case& each : cases)
    EXPECT_EQ(fits_pattern(each.text, each.pattern), each.fits) << each.text << " " << each.pattern;
}

}  // namespace
}  // namespace mete::server::envoy
