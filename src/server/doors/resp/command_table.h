// The table of all commands, how a request finds its own there, and what people read about them. command.h says what a
// declaration says.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/doors/resp/command.h"

namespace mete::server {

// Every command and subcommand, by group.
std::span<const Command> all_commands();
// Those of the last group: what other Mete servers send. all_commands() has them too.
std::span<const Command> store_commands();

struct FoundCommand {
  const Command* command = nullptr;  // none: unknown
  int arity = 0;                     // the command's
  std::size_t name_words = 1;        // the command's
  bool is_container = false;         // the first word is a container, but its subcommand is unknown or missing
};
// By the first one or two words of a request; their case does not matter. It takes a few dozen instructions.
FoundCommand find_command(std::span<const std::string_view> words);

// docs/commands.md.
std::string commands_markdown();
// One command, by its name in any case; a container ("LIMIT") with all its subcommands. None if there is none.
std::optional<std::string> command_text(std::string_view name);
// All commands, a line each, by group.
std::string commands_text();

}  // namespace mete::server
