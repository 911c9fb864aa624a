#include "base/output.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace mete::base {
namespace {

TEST(Output, IsEmptyAtFirstAndStaysSoWhenNothingHappens) {
  Output output;
  EXPECT_TRUE(output.empty());
  EXPECT_EQ(output.view(), "");
  EXPECT_EQ(output.capacity(), 0U);
  output.append("");
  output.drop(0);
  output.cut_to(0);
  output.clear();
  EXPECT_TRUE(output.empty());
}

TEST(Output, DoesAsAStringDoes) {
  std::mt19937_64 random(2);
  for (int history = 0; history < 200; ++history) {
    Output output;
    std::string model;
    for (int step = 0; step < 100; ++step) {
      const std::string bytes(random() % (step % 10 == 0 ? 3000 : 30), static_cast<char>('a' + random() % 26));
      switch (random() % 6) {
        case 0:
        case 1:
          output.append(bytes);
          model += bytes;
          break;
        case 2: {  // reserved generously, used in part
          char* at = output.reserve(bytes.size() + 100);
          std::copy(bytes.begin(), bytes.end(), at);
          output.advance_to(at + bytes.size());
          model += bytes;
          break;
        }
        case 3: {
          const std::size_t count = random() % (model.size() + 1);
          output.drop(count);
          model.erase(0, count);
          break;
        }
        case 4: {
          const std::size_t size = random() % (model.size() + 1);
          output.cut_to(size);
          model.resize(size);
          break;
        }
        default:
          if (random() % 10 == 0) {
            output.clear();
            model.clear();
          }
      }
      ASSERT_EQ(output.view(), model);
      ASSERT_EQ(output.size(), model.size());
      ASSERT_GE(output.capacity(), output.size());
    }
  }
}

TEST(Output, KeepsItsMemoryWhenClearedAndGivesItAwayWhenMoved) {
  Output output;
  output.append(std::string(10'000, 'x'));
  const std::size_t capacity = output.capacity();
  output.clear();
  EXPECT_EQ(output.capacity(), capacity);
  output.append("abc");
  Output other = std::move(output);
  EXPECT_EQ(other.view(), "abc");
  EXPECT_EQ(other.capacity(), capacity);
  other = Output();
  EXPECT_EQ(other.capacity(), 0U);
}

}  // namespace
}  // namespace mete::base
