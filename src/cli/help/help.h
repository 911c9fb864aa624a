// What is written from the table of commands: help for terminals, docs/cli.md, completions for shells, manual pages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/command.h"

namespace mete::cli {

inline constexpr std::size_t kHelpWidth = 100;

std::string overview_text(std::span<const Command> all);
std::string group_text(std::span<const Command> all, std::string_view group);
std::string help_text(const Command& command);
std::string commands_markdown(std::span<const Command> all);
// The same text with the lines of its paragraphs and lists no longer than kHelpWidth.
std::string in_columns(std::string_view markdown);

// The parts that the other formats share.
std::string usage_line(const Command& command);   // "mete take [OPTIONS] LIMIT KEY"
std::string option_head(const Argument& option);  // "--cost N"
std::string option_help(const Argument& option);  // with default, names and variable
std::vector<ExitStatus> all_statuses(const Command& command);
// The commands and groups that are listed, each with its summary.
struct Listed {
  std::string name;
  std::string summary;
};
std::vector<Listed> listed_commands(std::span<const Command> all, std::string_view group = {});

// The scripts for shells.
std::string bash_completion(std::span<const Command> all);
std::string zsh_completion(std::span<const Command> all);
std::string fish_completion(std::span<const Command> all);

// Manual pages in the language of man(7).
struct ManPage {
  std::string file;  // "mete-take.1"
  std::string text;
};

// mete.1, one page per command, and mete.toml.5.
std::vector<ManPage> manual(std::span<const Command> all);

}  // namespace mete::cli
