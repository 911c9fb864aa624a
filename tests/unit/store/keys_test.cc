// Keys: what their arguments may be, checked once for all stores.
#include "store/keys.h"

#include <gtest/gtest.h>

#include <limits>

#include "store/embedded/embedded_store.h"

namespace mete::store {
namespace {

using namespace std::chrono_literals;

class KeysArguments : public ::testing::Test {
 protected:
  template <class AnyResult>
  static void expect_refused(const AnyResult& result, std::string_view word) {
    ASSERT_FALSE(result.has_value()) << word;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
    EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message;
  }

  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};
  EmbeddedStore store{{.clock = &clock}};
  Keys keys = store.keys();
};

TEST_F(KeysArguments, AKeyHas1To512Bytes) {
  for (const std::string& key : {std::string(), std::string(513, 'k')}) {
    expect_refused(keys.get(key), "key must have 1 to 512 bytes");
    expect_refused(keys.set({.key = key}), "key");
    expect_refused(keys.take_out(key), "key");
    expect_refused(keys.add(key, 1), "key");
    expect_refused(keys.add_bounded({.key = key}), "key");
    expect_refused(keys.quota_set(key, {1, 1s}), "key");
    expect_refused(keys.quota_get(key), "key");
    expect_refused(keys.quota_remove(key), "key");
    expect_refused(keys.quota_take(key, {1, 1s}, 1), "key");
    expect_refused(keys.throttle(key, {1, 1, 1s, 1}), "key");
    expect_refused(keys.type(key), "key");
    expect_refused(keys.remove(key), "key");
    expect_refused(keys.expires_at(key), "key");
    expect_refused(keys.expire(key, Expiry::none()), "key");
    expect_refused(keys.persist(key), "key");
  }
  const std::string longest(512, '\0');
  EXPECT_EQ(keys.add(longest, 3).value(), 3);
  EXPECT_EQ(keys.get(longest).value(), 3);
}

TEST_F(KeysArguments, QuotaRules) {
  const struct {
    QuotaRule rule;
    std::string_view word;  // empty: valid
  } rows[] = {
      {{1, 1s}, ""},
      {{kAmountMax, kPeriodMax}, ""},
      {{0, 1s}, "limit must be 1 to 9007199254740991, not 0"},
      {{-1, 1s}, "limit"},
      {{kAmountMax + 1, 1s}, "limit"},
      {{1, 0s}, "window"},
      {{1, -1s}, "window"},
      {{1, 999ms}, "window must be whole seconds"},
      {{1, 1500ms}, "window"},
      {{1, kPeriodMax + Duration(1s)}, "window"},
      {{1, Duration::never()}, "window"},
  };
  for (const auto& row : rows) {
    if (row.word.empty()) {
      keys.quota_set("q", row.rule).value();
      EXPECT_EQ(keys.quota_get("q").value()->rule, row.rule);
      continue;
    }
    expect_refused(keys.quota_set("q", row.rule), row.word);
    expect_refused(keys.quota_take("q", row.rule, 1), row.word);
  }
}

TEST_F(KeysArguments, WhatAQuotaIsAskedFor) {
  keys.quota_set("q", {10, 60s}).value();
  for (const Amount units : {Amount{0}, Amount{-1}, kAmountMax + 1, std::numeric_limits<Amount>::min()}) {
    expect_refused(keys.quota_take("q", {10, 60s}, units), "consumed by 1 to 9007199254740991");
    expect_refused(keys.add("q", units), "consumed by 1 to 9007199254740991");
  }
  EXPECT_EQ(keys.get("q").value(), 10) << "nothing changed";
  EXPECT_EQ(keys.quota_take("q", {10, 60s}, kAmountMax).value(), core::kQuotaDenied);
}

TEST_F(KeysArguments, Throttles) {
  const struct {
    ThrottleRequest request;
    std::string_view word;  // empty: valid
  } rows[] = {
      {{1, 1, 1ms, 0}, ""},
      {{kAmountMax, kAmountMax, kPeriodMax, kAmountMax}, ""},
      {{0, 1, 1s, 1}, "capacity"},
      {{kAmountMax + 1, 1, 1s, 1}, "capacity"},
      {{1, 0, 1s, 1}, "count"},
      {{1, kAmountMax + 1, 1s, 1}, "count"},
      {{1, 1, Duration::from_ns(999'999), 1}, "period"},
      {{1, 1, kPeriodMax + Duration(1ns), 1}, "period"},
      {{1, 1, 1s, -1}, "quantity"},
      {{1, 1, 1s, kAmountMax + 1}, "quantity"},
  };
  for (const auto& row : rows) {
    if (row.word.empty()) {
      EXPECT_TRUE(keys.throttle("t", row.request).value().is_allowed);
    } else {
      expect_refused(keys.throttle("t", row.request), row.word);
    }
  }
}

TEST_F(KeysArguments, Expiries) {
  const struct {
    Expiry expiry;
    std::string_view word;            // of the refusal; empty: valid
    std::string_view word_on_expire;  // there a length of 0 or less removes
  } rows[] = {
      {Expiry::in(1ns), "", ""},
      {Expiry::in(0s), "above 0", ""},
      {Expiry::in(-1s), "above 0", ""},
      {Expiry::in(Duration::never()), "too far", "too far"},
      {Expiry::at(Instant()), "", ""},
      {Expiry::at(Instant::max()), "too far", "too far"},
      {Expiry::at(Instant::from_ns(Instant::max().ns() - 1)), "", ""},
  };
  for (const auto& row : rows) {
    keys.set({.key = "c", .value = 1}).value();
    if (row.word.empty()) {
      EXPECT_TRUE(keys.set({.key = "c", .value = 2, .expiry = row.expiry}).has_value());
      EXPECT_TRUE(keys.add_bounded({.key = "c", .expiry = row.expiry}).has_value());
    } else {
      expect_refused(keys.set({.key = "c", .value = 2, .expiry = row.expiry}), row.word);
      expect_refused(keys.add_bounded({.key = "c", .expiry = row.expiry}), row.word);
      EXPECT_EQ(keys.get("c").value(), 1);
    }
    keys.set({.key = "c", .value = 1}).value();
    if (row.word_on_expire.empty()) {
      EXPECT_TRUE(keys.expire("c", row.expiry).value());
    } else {
      expect_refused(keys.expire("c", row.expiry), row.word_on_expire);
    }
  }
}

TEST_F(KeysArguments, Bounds) {
  expect_refused(keys.add_bounded({.key = "c", .lower = 2, .upper = 1}), "lower bound 2 is above the upper bound 1");
  EXPECT_EQ(keys.add_bounded({.key = "c", .lower = 1, .upper = 1}).value(), (BoundedSum{1, 1}));
}

}  // namespace
}  // namespace mete::store
