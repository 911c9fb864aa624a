// What people read about the commands, written from their table: docs/commands.md, and `mete help TAKE`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mete::server {

// docs/commands.md.
std::string commands_markdown();
// One command, by its name in any case; a container ("LIMIT") with all its subcommands. None if there is none.
std::optional<std::string> command_text(std::string_view name);
// All commands, a line each, by group.
std::string commands_text();

}  // namespace mete::server
