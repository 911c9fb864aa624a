// The command line into an Invocation.
//
//     mete take api alice --cost 5        --option VALUE or --option=VALUE, anywhere after the command
//     mete take api -- --strange-key      after -- all words are arguments
#pragma once

#include <mete/result.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/command.h"

namespace mete::cli {

// The error says what is wrong, after the command's name where that is known: "take: unknown option '--foo'".
Result<Invocation> parse(std::span<const Command> all, const std::vector<std::string>& words);

const Command* find_command(std::span<const Command> all, std::string_view name);
// Whether there are commands "NAME …".
bool is_group(std::span<const Command> all, std::string_view name);

}  // namespace mete::cli
