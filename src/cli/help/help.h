// What `mete help` prints, for terminals and as docs/cli.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/frame/command.h"

namespace mete::cli {

inline constexpr std::size_t kHelpWidth = 100;

std::string overview_text(std::span<const Command> all);
std::string group_text(std::span<const Command> all, std::string_view group);
std::string help_text(const Command& command);
std::string commands_markdown(std::span<const Command> all);

// The parts that the other formats share.
std::string usage_line(const Command& command);  // "mete take [OPTIONS] LIMIT KEY"
std::string option_head(const Option& option);   // "--cost N"
std::string option_help(const Option& option);   // with default, choices and variable
std::vector<ExitStatus> all_statuses(const Command& command);
// The commands and groups that are listed, each with its summary.
struct Listed {
  std::string name;
  std::string summary;
};
std::vector<Listed> listed_commands(std::span<const Command> all, std::string_view group = {});

}  // namespace mete::cli
