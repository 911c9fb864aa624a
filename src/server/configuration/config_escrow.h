// Whether the settings of [escrow] go together, and with the others.
#pragma once

#include <optional>

#include "server/configuration/config_check.h"

namespace mete::server {

// A secret in a file counts as one, whether it has been read or not.
std::optional<Conflict> find_escrow_conflict(const Config& config);

}  // namespace mete::server
