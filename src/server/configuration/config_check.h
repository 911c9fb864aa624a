// What one setting alone cannot tell: whether the values of a configuration go together.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/configuration/config.h"

namespace mete::server {

struct Conflict {
  std::string_view setting;  // the one to change first
  std::string message;
};

// Passwords and secrets in files count as such, whether they have been read or not.
std::optional<Conflict> find_conflict(const Config& config);

}  // namespace mete::server
