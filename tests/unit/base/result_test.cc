#include <gtest/gtest.h>
#include <mete/decision.h>
#include <mete/result.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/try.h"

namespace mete {
namespace {

using Numbers = std::vector<int>;

Result<Numbers> numbers(bool is_good) {
  if (!is_good) return base::invalid("no numbers");
  return Numbers{1, 2, 3};
}

template <class T>
constexpr bool kIsBool = std::is_constructible_v<bool, T>;

// The question "no error?" is never mistaken for the answer.
static_assert(!kIsBool<Result<bool>> && !kIsBool<Result<std::optional<int>>>);
static_assert(!kIsBool<Result<Decision>> && !kIsBool<Result<HoldDecision>>);
static_assert(kIsBool<Result<void>> && kIsBool<Result<Settlement>> && kIsBool<Result<std::string>>);
static_assert(!std::is_convertible_v<Result<void>, bool>);
// A bool is made of nothing but a bool.
static_assert(std::is_convertible_v<bool, Result<bool>>);
static_assert(!std::is_convertible_v<const char*, Result<bool>> && !std::is_convertible_v<int, Result<bool>>);
// A value that is moved without a throw stays one.
static_assert(std::is_nothrow_move_constructible_v<Result<Numbers>>);
static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);

TEST(Result, HasAValueOrAnError) {
  const Result<Numbers> good = numbers(true);
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(*good, (Numbers{1, 2, 3}));
  EXPECT_EQ(good->size(), 3U);
  const Result<Numbers> bad = numbers(false);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error(), (Error{ErrorCode::kInvalid, "no numbers"}));
  EXPECT_EQ(bad.value_or(Numbers{7}), Numbers{7});
  EXPECT_NE(good, bad);
}

TEST(Result, TellsTheMessageWhenItHasNoValue) {
  const Result<int> bad = Error{ErrorCode::kNoLimit, "no limit 'api'"};
  try {
    static_cast<void>(bad.value());
    FAIL() << "it has no value";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "NOLIMIT no limit 'api'");
    EXPECT_EQ(failure.error(), bad.error());
  }
  EXPECT_THROW(static_cast<void>(*bad), Failure);
  EXPECT_THROW(numbers(false).value(), Failure);
  EXPECT_THROW(static_cast<void>(numbers(false)->size()), Failure);
  EXPECT_THROW(Result<void>(bad.error()).value(), Failure);
  EXPECT_THROW(static_cast<void>(numbers(true).error()), std::logic_error);
  EXPECT_THROW(static_cast<void>(Result<void>().error()), std::logic_error);
}

TEST(Result, OutlivesItsTemporary) {
  static_assert(std::is_same_v<decltype(numbers(true).value()), Numbers>);
  static_assert(std::is_same_v<decltype(*numbers(true)), Numbers>);
  int sum = 0;
  for (const int number : numbers(true).value()) sum += number;
  EXPECT_EQ(sum, 6);
}

TEST(Result, IsAssignedAcrossValueAndError) {
  Result<Numbers> result = numbers(true);
  result = numbers(false);
  EXPECT_EQ(result.error().message, "no numbers");
  const Result<Numbers> good = numbers(true);
  result = good;
  EXPECT_EQ(result, good);
  result = base::unavailable("away");
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  const Result<Numbers>& itself = result;
  result = itself;
  EXPECT_EQ(result.error().message, "away");
}

TEST(Result, IsMappedAndChained) {
  const auto size = [](const Numbers& all) { return all.size(); };
  EXPECT_EQ(*numbers(true).map(size), 3U);
  EXPECT_EQ(numbers(false).map(size).error().message, "no numbers");
  const auto first = [](Numbers all) -> Result<int> { return all.front(); };
  EXPECT_EQ(*numbers(true).and_then(first), 1);
  const auto longer = [](const Error& error) { return base::invalid_at("line 3", error.message); };
  EXPECT_EQ(numbers(false).map_error(longer).error().message, "line 3: no numbers");
  EXPECT_TRUE(numbers(true).map([](const Numbers&) {}).has_value());
  EXPECT_EQ(*Result<void>().map([] { return 5; }), 5);
}

TEST(Result, ConvertsItsValue) {
  Result<std::unique_ptr<std::string>> text = std::make_unique<std::string>("text");
  const Result<std::shared_ptr<std::string>> shared = std::move(text);
  EXPECT_EQ(**shared, "text");
  const Result<std::optional<std::string>> none = std::nullopt;
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->has_value());
}

Result<std::size_t> count(bool is_good) {
  const auto all = TRY(numbers(is_good));
  return all.size();
}

Result<std::unique_ptr<int>> boxed(Result<int> number) { return std::make_unique<int>(TRY(std::move(number))); }

Result<int> unboxed(Result<int> number) {
  const auto box = TRY(boxed(std::move(number)));
  return *box;
}

Result<std::string> pass_on(const Result<void>& done, const Result<std::string>& text) {
  TRY(done);
  const std::string first = TRY(text);
  return first + *text;
}

TEST(Try, YieldsTheValueOrReturnsTheError) {
  EXPECT_EQ(*count(true), 3U);
  EXPECT_EQ(count(false).error().message, "no numbers");
  EXPECT_EQ(*unboxed(5), 5);
  EXPECT_EQ(unboxed(base::unavailable("away")).error(), (Error{ErrorCode::kUnavailable, "away"}));
  EXPECT_EQ(*pass_on({}, std::string("ab")), "abab");
  EXPECT_EQ(pass_on(base::invalid("bad"), std::string("ab")).error().message, "bad");
}

}  // namespace
}  // namespace mete
