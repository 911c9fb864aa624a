#include "store/redis/client/scripts.h"

#include <gtest/gtest.h>

namespace mete::store::redis {
namespace {

TEST(ScriptStateTest, OneLoadsForAll) {
  ScriptState state;
  EXPECT_FALSE(state.are_loaded());
  const auto first = state.loads();
  EXPECT_TRUE(state.begin(first));
  EXPECT_FALSE(state.begin(first));  // Somebody does it.
  const auto meanwhile = state.loads();
  state.finished(true);
  EXPECT_TRUE(state.are_loaded());
  EXPECT_FALSE(state.begin(first));  // It was done since.
  EXPECT_FALSE(state.begin(meanwhile));
  EXPECT_TRUE(state.begin(state.loads()));  // They were missing after that.
}

TEST(ScriptStateTest, WhatFailedIsTriedByTheNext) {
  ScriptState state;
  const auto first = state.loads();
  ASSERT_TRUE(state.begin(first));
  state.finished(false);
  EXPECT_FALSE(state.are_loaded());
  ASSERT_TRUE(state.begin(first));
  state.finished(true);
  state.doubt();
  EXPECT_FALSE(state.are_loaded());
}

}  // namespace
}  // namespace mete::store::redis
