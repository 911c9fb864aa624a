// The fixture of the conformance suite: a world of its own for each test, and words for what tests ask.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/world.h"

namespace mete::conformance {

inline constexpr Duration kHour = std::chrono::hours(1);

class Conformance : public ::testing::TestWithParam<StoreUnderTest> {
 protected:
  Conformance();
  ~Conformance() override;
  // A test that exceptions.h lists for this store must fail there, and is skipped with the reason; if it passes, that
  // is a failure.
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] World& world() const { return *world_; }
  [[nodiscard]] Limiter& limiter() const { return world_->limiter(); }
  void advance(Duration step) { world_->advance(step); }
  // The least by which the clock advances.
  [[nodiscard]] Duration step() const { return world_->clock_resolution(); }
  // A wait as this clock can tell it.
  [[nodiscard]] Duration in_steps(Duration wait) const;

  // So many of what a test repeats; a fifth of it where each is slow, but for the long form.
  [[nodiscard]] static int many(int count);

  // A name for a limit, an id or a tag that no other test has, in this run or another one.
  [[nodiscard]] std::string unique(std::string_view text) const;
  // As it is defined in this store: with the scope of all its limits.
  [[nodiscard]] static Limit scoped(Limit limit) { return limit.scope(GetParam().scope); }
  // Defines the limit, scoped, and returns its name.
  std::string define(const Limit& limit);
  // A limit of each kind, each defined, with windows of an hour. They are scoped.
  [[nodiscard]] std::vector<Limit> each_kind(Amount amount);
  [[nodiscard]] static Limit of_kind(Kind kind, const std::string& name, Amount amount);
  // Waits until a window of this period begins.
  void start_window(Duration period);

  Decision take(std::string_view limit, std::string_view key, Amount cost = 1);
  Decision take_mode(const Charge& charge, Mode mode);
  // An open hold of one charge.
  std::string hold(const Charge& charge, Duration ttl);
  [[nodiscard]] Usage usage(std::string_view limit, std::string_view key) const;
  // What is charged, held or not.
  [[nodiscard]] Amount charged(std::string_view limit, std::string_view key) const;

  // How a meter stands, to the fraction of a unit: `full` asks for the whole capacity, and its wait tells the fraction.
  struct Standing {
    Usage usage;
    Decision full;
    bool operator==(const Standing&) const = default;
  };
  [[nodiscard]] Standing standing(std::string_view limit, std::string_view key) const;

  // The wait that a denial tells is enough, and the clock's smallest step less is not. Lets that time pass.
  void expect_exact_wait(const Charge& charge);

 private:
  // The failures of a test that must fail, in place of a report.
  struct Expected;

  std::unique_ptr<World> world_;
  std::string suffix_;
  std::unique_ptr<Expected> expected_;
};

// One test per row of the table of defects; the figures are those of its scenarios.
class SeedDefects : public Conformance {};

// The error's code, and that its message names what is wrong.
template <class T>
void expect_error(const Result<T>& result, ErrorCode code, std::string_view word) {
  ASSERT_FALSE(result.has_value()) << "no error, although '" << word << "' should be refused";
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(word), std::string::npos)
      << "'" << result.error().message << "' does not name '" << word << "'";
}

inline std::string store_name(const ::testing::TestParamInfo<StoreUnderTest>& info) { return info.param.name; }

}  // namespace mete::conformance
