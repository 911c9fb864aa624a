// Completion scripts for shells, written from the table of commands.
#pragma once

#include <span>
#include <string>

#include "cli/frame/command.h"

namespace mete::cli {

std::string bash_completion(std::span<const Command> all);
std::string zsh_completion(std::span<const Command> all);
std::string fish_completion(std::span<const Command> all);

}  // namespace mete::cli
