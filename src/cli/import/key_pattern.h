// KeyPattern: names of Redis keys that are alike but for a part or two, each of which is written as a star.
//
//     KeyPattern::parse("quota:tenant:*:used", 1)->match("quota:tenant:acme:used")       {"acme"}
//     KeyPattern::parse("users:*:quota:*", 2)->match("users:42:quota:2026-01")           {"42", "2026-01"}
//
// The star is the only sign with a meaning: brackets and question marks stand for themselves. A value; pure.
#pragma once

#include <mete/result.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mete::cli {

class KeyPattern {
 public:
  // `stars`: how many it must have. The error says what is wrong, and not where it was given.
  static Result<KeyPattern> parse(std::string_view text, std::size_t stars);

  // What the stars stand for, in their order; none if the name is not like this. Where it can be split in several
  // ways, the first star has as much of it as it can get.
  [[nodiscard]] std::optional<std::vector<std::string>> match(std::string_view name) const;
  // The name with this in the place of the star, of which there is one.
  [[nodiscard]] std::string name_with(std::string_view part) const;
  // The same for Redis's MATCH, where other signs have a meaning too.
  [[nodiscard]] std::string glob() const;
  // As it was given.
  [[nodiscard]] std::string text() const;

 private:
  explicit KeyPattern(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}

  std::vector<std::string> pieces_;  // what stands before, between and behind the stars
};

}  // namespace mete::cli
