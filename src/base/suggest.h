// closest: what somebody may have meant who mistyped a name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mete::base {

// The candidate that takes the fewest letters inserted, deleted, replaced or exchanged with their neighbour; none if
// that is more than a third of the word from the first letter on that differs.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'force'?", or nothing where no candidate is close.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace mete::base
