// The table of all commands. See command.h for what a declaration says.
#pragma once

#include <span>

#include "server/doors/resp/command.h"

namespace mete::server {

// Every command and subcommand, by group.
std::span<const Command> all_commands();

}  // namespace mete::server
