// PostgreSQL's clock is set: the store does not follow it, and says so.
#include <gtest/gtest.h>

#include <string>

#include "store/open.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using namespace std::chrono_literals;

class PostgresClockTest : public ::testing::Test {
 protected:
  [[nodiscard]] bool is_refused() const { return store_->clock_status().refused_by != Duration(); }
  void expect_refused() {
    ASSERT_TRUE(support::becomes_true(20s, [this] { return is_refused(); }));
    EXPECT_EQ(store_->clock_status().refused_steps, ++steps_);
    EXPECT_GE(store_->now(), begun_);
    EXPECT_LT(store_->now(), begun_ + 1h);
  }
  void expect_followed() {
    ASSERT_TRUE(support::becomes_true(20s, [this] { return !is_refused(); }));
    EXPECT_EQ(store_->clock_status().refused_steps, steps_);
  }
  Result<core::Verdict> take(std::string_view key) {
    const Charge charge{"api", key, 1};
    return store_->take({.charges = {&charge, 1}});
  }

  support::PostgresServer& server_ = support::shared_postgres();
  const Instant begun_ = server_.time();
  std::unique_ptr<Store> store_ = store::open_store(server_.patient_url(), {.clock_step_max = 10min}).value();
  std::uint64_t steps_ = 0;
};

TEST_F(PostgresClockTest, AStepForwardsIsRefusedUntilItIsTakenBack) {
  store_->define(stock("api").amount(10)).value();
  server_.set_time(begun_ + 366 * 24h);
  expect_refused();
  EXPECT_GT(store_->clock_status().refused_by, Duration(365 * 24h));
  server_.set_time(begun_ + 5min);
  expect_followed();
  ASSERT_TRUE(support::becomes_true(20s, [this] { return store_->now() >= begun_ + 5min; }));
  EXPECT_TRUE(take("after it")->is_allowed);
}

TEST_F(PostgresClockTest, AStepBackwardsIsRefusedUntilItIsTakenBack) {
  server_.set_time(Instant::from_ns(begun_.ns() - static_cast<std::uint64_t>(Duration(366 * 24h).ns())));
  expect_refused();
  server_.set_time(begun_);
  expect_followed();
}

TEST_F(PostgresClockTest, AStepWithinTheBoundIsFollowed) {
  server_.set_time(begun_ + 9min);
  ASSERT_TRUE(support::becomes_true(20s, [this] { return store_->now() >= begun_ + 9min; }));
  EXPECT_EQ(store_->clock_status().refused_steps, 0U);
}

}  // namespace
}  // namespace mete::store::postgres
