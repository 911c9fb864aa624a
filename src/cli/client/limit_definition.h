// LimitDefinition: what a server says that a limit is.
#pragma once

#include <mete/result.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/client/client.h"

namespace mete::cli {

struct LimitMember {
  std::string name;
  wire::RespValue value;  // an integer or a text
};
// As the server tells it: name, kind, amount, and what else was said when it was defined.
using LimitDefinition = std::vector<LimitMember>;

// None if there is no such limit.
Result<std::optional<LimitDefinition>> find_limit(Client& client, const std::string& name);

}  // namespace mete::cli
