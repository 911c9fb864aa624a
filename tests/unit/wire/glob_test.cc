#include "wire/text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

namespace mete::wire {
namespace {

// A second implementation, slow and obvious: every '*' tries every length.
bool model(std::string_view pattern, std::string_view text);

// "[…]" at the front of the pattern, against one byte; the pattern moves behind it.
bool model_class(std::string_view& pattern, unsigned char byte) {
  pattern.remove_prefix(1);
  const bool is_negated = pattern.starts_with('^');
  if (is_negated) pattern.remove_prefix(1);
  const auto take = [&] {
    const auto code = static_cast<unsigned char>(pattern[0]);
    pattern.remove_prefix(1);
    return code;
  };
  bool is_found = false;
  while (!pattern.empty() && pattern[0] != ']') {
    if (pattern[0] == '\\' && pattern.size() > 1) take();
    const unsigned char low = take();
    unsigned char high = low;
    if (pattern.size() > 1 && pattern[0] == '-' && pattern[1] != ']') {
      take();
      high = take();
    }
    is_found = is_found || (byte >= std::min(low, high) && byte <= std::max(low, high));
  }
  if (!pattern.empty()) take();
  return is_found != is_negated;
}

bool model(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t length = 0; length <= text.size(); ++length) {
      if (model(pattern.substr(1), text.substr(length))) return true;
    }
    return false;
  }
  if (text.empty()) return false;
  const auto byte = static_cast<unsigned char>(text[0]);
  if (pattern[0] == '?') return model(pattern.substr(1), text.substr(1));
  if (pattern[0] == '[') return model_class(pattern, byte) && model(pattern, text.substr(1));
  if (pattern[0] == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  return pattern[0] == text[0] && model(pattern.substr(1), text.substr(1));
}

TEST(Glob, MatchesAsRedisDoes) {
  const struct {
    std::string_view pattern;
    std::string_view text;
    bool expected;
  } rows[] = {
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "anything", true},
      {"user:*", "user:1", true},
      {"user:*", "users:1", false},
      {"*:1", "user:1", true},
      {"*a*b*", "xxaxxbxx", true},
      {"*a*b*", "xxbxxaxx", false},
      {"h?llo", "hello", true},
      {"h?llo", "hllo", false},
      {"h[ae]llo", "hallo", true},
      {"h[ae]llo", "hillo", false},
      {"h[^e]llo", "hallo", true},
      {"h[^e]llo", "hello", false},
      {"h[a-c]llo", "hbllo", true},
      {"h[c-a]llo", "hbllo", true},
      {"h[a-]llo", "h-llo", true},
      {"[\\]]", "]", true},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"a\\", "a\\", true},
      {"[", "a", false},
      {"[a", "a", true},
      {"[^", "a", true},
      {"[\xf0-\xff]", "\xf7", true},
      {std::string_view("a\0*", 3), std::string_view("a\0b", 3), true},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(matches_glob(row.pattern, row.text), row.expected) << row.pattern << " " << row.text;
    EXPECT_EQ(model(row.pattern, row.text), row.expected) << "the model: " << row.pattern << " " << row.text;
  }
}

TEST(Glob, DoesAsTheModelDoes) {
  constexpr std::string_view kPatternBytes = "ab*?[]^-\\c";
  constexpr std::string_view kTextBytes = "abc]-\\";
  std::mt19937_64 random(3);
  const auto make = [&](std::string_view bytes, std::size_t size_max) {
    std::string text;
    for (std::size_t left = random() % (size_max + 1); left > 0; --left) text += bytes[random() % bytes.size()];
    return text;
  };
  int matches = 0;
  for (int round = 0; round < 300'000; ++round) {
    const std::string pattern = make(kPatternBytes, 7);
    const std::string text = make(kTextBytes, 6);
    ASSERT_EQ(matches_glob(pattern, text), model(pattern, text)) << quote(pattern) << " " << quote(text);
    matches += matches_glob(pattern, text) ? 1 : 0;
  }
  EXPECT_GT(matches, 10'000);
}

// Backtracking over every '*' would take longer than the age of the world.
TEST(Glob, IsNotSlowWhateverThePattern) {
  std::string pattern;
  for (int count = 0; count < 100; ++count) pattern += "*a";
  EXPECT_FALSE(matches_glob(pattern + "b", std::string(10'000, 'a')));
}

}  // namespace
}  // namespace mete::wire
