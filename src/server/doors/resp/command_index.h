// Finding the command of a request in the table, in a few dozen instructions.
#pragma once

#include <span>
#include <string_view>

#include "server/doors/resp/command.h"

namespace mete::server {

struct FoundCommand {
  const Command* command = nullptr;  // none: unknown
  int arity = 0;                     // the command's
  std::size_t name_words = 1;        // the command's
  bool is_container = false;         // the first word is a container, but its subcommand is unknown or missing
};
// By the first one or two words of a request; their case does not matter.
FoundCommand find_command(std::span<const std::string_view> words);

}  // namespace mete::server
