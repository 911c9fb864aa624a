#include "base/time_text.h"

#include <gtest/gtest.h>

namespace mete::base {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, IsTheShortestThatSaysItExactly) {
  const struct {
    Duration duration;
    std::string_view text;
  } rows[] = {
      {0s, "0s"},         {1ms, "1ms"},
      {1500ms, "1500ms"}, {1s, "1s"},
      {60s, "1m"},        {90s, "90s"},
      {1h, "1h"},         {24h, "1d"},
      {36h, "36h"},       {24h * 99'999, "99999d"},
      {1us, "1us"},       {1'000'001ns, "1000001ns"},
      {-1s, "-1s"},       {Duration::never(), "never"},
  };
  for (const auto& row : rows) EXPECT_EQ(duration_text(row.duration), row.text);
}

TEST(AboutText, IsNeverTooShort) {
  const struct {
    Duration duration;
    std::string_view text;
  } rows[] = {
      {0s, "0s"},
      {-5s, "0s"},
      {1ns, "1s"},
      {60s, "1m"},
      {3'596'094'742'219ns, "59m57s"},
      {1h, "1h"},
      {1h + 1ns, "1h1m"},
      {23h + 59min + 1s, "1d"},
      {24h + 59min, "1d1h"},
      {24h * 366, "366d"},
      {Duration::never(), "never"},
  };
  for (const auto& row : rows) EXPECT_EQ(about_text(row.duration), row.text);
}

}  // namespace
}  // namespace mete::base
