#include "base/suggest.h"

#include <algorithm>
#include <vector>

namespace mete::base {

namespace {

// Longer words are no slips of the finger, and the effort grows with their product.
constexpr std::size_t kWordBytesMax = 64;

// The optimal string alignment distance, by the usual table of prefixes of which three rows are enough.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before_last(right.size() + 1);
  std::vector<std::size_t> last(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t column = 0; column <= right.size(); ++column) row[column] = column;
  for (std::size_t line = 1; line <= left.size(); ++line) {
    before_last.swap(last);
    last.swap(row);
    row[0] = line;
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const std::size_t replaced = last[column - 1] + (left[line - 1] == right[column - 1] ? 0 : 1);
      row[column] = std::min({last[column] + 1, row[column - 1] + 1, replaced});
      const bool is_exchanged =
          line > 1 && column > 1 && left[line - 1] == right[column - 2] && left[line - 2] == right[column - 1];
      if (is_exchanged) row[column] = std::min(row[column], before_last[column - 2] + 1);
    }
  }
  return row[right.size()];
}

}  // namespace

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kWordBytesMax) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = kWordBytesMax;
  for (const std::string& candidate : candidates) {
    // A beginning that all names have in common is no likeness.
    const auto differs = std::mismatch(word.begin(), word.end(), candidate.begin(), candidate.end()).first;
    const auto rest = static_cast<std::size_t>(word.end() - differs);
    const std::size_t steps = distance(word, candidate);
    if (steps > std::max<std::size_t>(1, rest / 3) || steps >= best_distance) continue;
    best = candidate;
    best_distance = steps;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto name = closest(word, candidates);
  return name ? "; did you mean '" + *name + "'?" : "";
}

}  // namespace mete::base
