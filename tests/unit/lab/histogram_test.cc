#include "lab/bench/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace mete::lab {
namespace {

TEST(HistogramTest, TellsASingleValueToOnePerCent) {
  for (std::uint64_t value = 0; value <= Histogram::kValueMax; value += value / 100 + 1) {
    Histogram histogram;
    histogram.record(value);
    histogram.record(Histogram::kValueMax);  // so that the maximum does not help
    const std::uint64_t told = histogram.value_at(500'000);
    ASSERT_GE(told, value);
    ASSERT_LE(told - value, value / 100) << value;
  }
}

TEST(HistogramTest, TellsPercentilesAsASortedListWould) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latency(11, 2);  // a median of 60 us
  std::vector<std::uint64_t> values;
  Histogram first;
  Histogram second;
  for (int count = 0; count < 20'001; ++count) {
    values.push_back(static_cast<std::uint64_t>(latency(random)));
    (count % 3 == 0 ? first : second).record(values.back());
  }
  first.merge(second);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(first.count(), values.size());
  EXPECT_EQ(first.max(), values.back());
  EXPECT_EQ(first.value_at(1'000'000), values.back());
  for (const std::uint64_t part : {1U, 500'000U, 900'000U, 990'000U, 999'000U}) {
    const std::uint64_t rank = (values.size() * part + 999'999) / 1'000'000;
    const std::uint64_t exact = values[rank - 1];
    EXPECT_GE(first.value_at(part), exact) << part;
    EXPECT_LE(first.value_at(part), exact + exact / 100) << part;
  }
}

TEST(HistogramTest, CountsManyAtOnceAndWhatIsTooLong) {
  Histogram histogram;
  EXPECT_EQ(histogram.value_at(500'000), 0U);
  histogram.record(100, 99);
  histogram.record(Histogram::kValueMax + 1'000);
  EXPECT_EQ(histogram.count(), 100U);
  EXPECT_EQ(histogram.value_at(990'000), 100U);
  EXPECT_EQ(histogram.value_at(999'000), Histogram::kValueMax);
  EXPECT_EQ(histogram.max(), Histogram::kValueMax + 1'000);
}

}  // namespace
}  // namespace mete::lab
