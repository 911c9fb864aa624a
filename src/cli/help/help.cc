#include "cli/help/help.h"

#include <algorithm>
#include <map>

#include "base/names.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

constexpr std::string_view kSlogan = "Mete: rate limits, quotas and reservations, exact and atomic.";
// Heads that are longer get a line of their own.
constexpr std::size_t kHeadWidth = 28;

// The text in lines of at most kHelpWidth, each of them indented.
std::string wrap(std::string_view text, std::size_t indent) {
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > 0 && indent + column + 1 + end > kHelpWidth) {
      result += '\n';
      column = 0;
    }
    result += column == 0 ? std::string(indent, ' ') : " ";
    result += text.substr(0, end);
    column += end + (column == 0 ? 0 : 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + "\n";
}

// A name and, in the column beside it, what there is to say about it.
std::string row(std::string_view head, std::string_view text) {
  const std::string start = "  " + std::string(head);
  if (text.empty()) return start + "\n";
  const std::string body = wrap(text, kHeadWidth);
  if (start.size() + 2 > kHeadWidth) return start + "\n" + body;
  return start + body.substr(start.size());
}

std::string sentence(const std::string& text) { return text + "."; }

// "hard, soft"
std::string names_text(const Argument& argument) { return joined(base::split_names(argument.names), ", "); }

std::string argument_head(const Argument& argument) {
  const std::string name = std::string(argument.name) + (argument.is_multiple ? "..." : "");
  return argument.is_optional ? "[" + name + "]" : name;
}

std::string argument_help(const Argument& argument) {
  return std::string(argument.help) + (argument.names.empty() ? "" : ": " + names_text(argument));
}

std::string command_rows(const std::vector<Listed>& commands) {
  std::string text;
  for (const Listed& each : commands) text += row(each.name, each.summary);
  return text;
}

// Between two bars of a table.
std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char letter : text) cell += letter == '|' ? std::string("\\|") : std::string(1, letter);
  return cell;
}

std::string markdown_table(std::string_view head, const std::vector<Listed>& rows) {
  if (rows.empty()) return {};
  std::string text = "| " + std::string(head) + " | |\n| --- | --- |\n";
  for (const Listed& each : rows) {
    text += "| `" + markdown_cell(each.name) + "` | " + markdown_cell(each.summary) + " |\n";
  }
  return text + "\n";
}

template <class Item>
std::vector<Listed> rows_of(const std::vector<Item>& items, std::string (*head)(const Item&),
                            std::string (*text)(const Item&)) {
  std::vector<Listed> rows;
  rows.reserve(items.size());
  for (const Item& item : items) rows.push_back({head(item), text(item)});
  return rows;
}

std::string status_head(const ExitStatus& status) { return std::to_string(status.status); }
std::string status_help(const ExitStatus& status) { return status.meaning; }

std::string command_markdown(const Command& command) {
  std::string text =
      "## mete " + command.name + "\n\n" + sentence(command.summary) + "\n\n    " + usage_line(command) + "\n\n";
  for (const std::string& paragraph : command.description) text += paragraph + "\n\n";
  text += markdown_table("argument", rows_of(command.arguments, argument_head, argument_help));
  text += markdown_table("option", rows_of(command.options, option_head, option_help));
  for (const Example& each : command.examples) text += each.purpose + ":\n\n    " + each.command + "\n\n";
  return text + markdown_table("exit status", rows_of(all_statuses(command), status_head, status_help));
}

}  // namespace

std::string usage_line(const Command& command) {
  std::string text = "mete " + command.name;
  if (!command.options.empty()) text += " [OPTIONS]";
  for (const Argument& option : command.options) {
    if (option.is_required) text += " " + option_head(option);
  }
  for (const Argument& argument : command.arguments) text += " " + argument_head(argument);
  return text;
}

std::string option_head(const Argument& option) {
  return "--" + std::string(option.word) + (option.name.empty() ? "" : " ") + std::string(option.name);
}

std::string option_help(const Argument& option) {
  std::string notes;
  const auto note = [&](std::string_view what, std::string_view text) {
    if (!text.empty()) notes.append(notes.empty() ? " (" : "; ").append(what).append(text);
  };
  note("one of ", option.names.empty() ? "" : names_text(option));
  note("default: ", option.default_text);
  note("variable: ", option.environment);
  return std::string(option.help) + notes + (notes.empty() ? "" : ")");
}

std::vector<ExitStatus> all_statuses(const Command& command) {
  std::map<int, std::string> meanings = {
      {kExitDone, "done"}, {kExitError, "an error, told on standard error: the command line is wrong, or it failed"}};
  for (const ExitStatus& own : command.statuses) meanings[own.status] = own.meaning;
  std::vector<ExitStatus> statuses;
  statuses.reserve(meanings.size());
  for (const auto& [status, meaning] : meanings) statuses.push_back({status, meaning});
  return statuses;
}

std::vector<Listed> listed_commands(std::span<const Command> all, std::string_view group) {
  std::vector<Listed> listed;
  const std::string prefix = group.empty() ? "" : std::string(group) + " ";
  for (const Command& command : all) {
    if (!command.is_hidden && command.name.starts_with(prefix)) listed.push_back({command.name, command.summary});
  }
  return listed;
}

std::string overview_text(std::span<const Command> all) {
  return std::string(kSlogan) + "\n\nusage: mete COMMAND [OPTIONS] [ARGUMENTS]\n\n" +
         command_rows(listed_commands(all)) + "\n'mete COMMAND --help' tells more.\n";
}

std::string group_text(std::span<const Command> all, std::string_view group) {
  const auto listed = listed_commands(all, group);
  return "usage: mete " + std::string(group) + " COMMAND [OPTIONS] [ARGUMENTS]\n\n" + command_rows(listed) +
         "\n'mete " + std::string(group) + " COMMAND --help' tells more.\n";
}

std::string help_text(const Command& command) {
  std::string text = wrap(sentence(command.summary), 0) + "\nusage: " + usage_line(command) + "\n";
  for (const std::string& paragraph : command.description) text += "\n" + wrap(paragraph, 0);
  if (!command.arguments.empty()) text += "\nArguments:\n";
  for (const Argument& each : command.arguments) text += row(argument_head(each), argument_help(each));
  text += "\nOptions:\n";
  for (const Argument& each : command.options) text += row(option_head(each), option_help(each));
  text += row("-h, --help", "Print this");
  if (!command.examples.empty()) text += "\nExamples:\n";
  for (const Example& each : command.examples) text += "  " + each.command + "\n" + wrap(each.purpose, 6);
  text += "\nExit status:\n";
  for (const ExitStatus& each : all_statuses(command)) text += row(std::to_string(each.status), each.meaning);
  return text;
}

// A paragraph or an item of a list, told anew line by line.
std::string paragraph_in_columns(std::string_view paragraph) {
  const std::size_t indent = paragraph.starts_with("- ") ? 2 : 0;
  std::string text;
  std::size_t columns = 0;
  std::string word;
  bool is_code = false;  // a name in code is not torn apart
  const auto add_word = [&] {
    if (word.empty()) return;
    if (columns > 0 && columns + 1 + columns_of(word) > kHelpWidth) {
      text += "\n" + std::string(indent, ' ');
      columns = indent;
    } else if (columns > 0) {
      text += ' ';
      ++columns;
    }
    text += word;
    columns += columns_of(word);
    word.clear();
  };
  for (const char letter : paragraph) {
    if (letter == '`') is_code = !is_code;
    if ((letter == ' ' || letter == '\n') && !is_code) {
      add_word();
    } else {
      word += letter == '\n' ? ' ' : letter;
    }
  }
  add_word();
  return text + "\n";
}

std::string in_columns(std::string_view markdown) {
  std::string text;
  std::string paragraph;
  bool is_code = false;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) text += paragraph_in_columns(paragraph);
    paragraph.clear();
  };
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    if (line.starts_with("```")) is_code = !is_code;
    const bool is_kept = is_code || line.empty() || line.starts_with("```") || line.starts_with("|") ||
                         line.starts_with("#") || line.starts_with("    ") || line.starts_with("<!--");
    if (is_kept || line.starts_with("- ")) end_paragraph();
    if (is_kept) {
      text += std::string(line) + "\n";
    } else {
      paragraph += (paragraph.empty() ? "" : "\n") + std::string(line.substr(line.find_first_not_of(' ')));
    }
  }
  end_paragraph();
  return text;
}

std::string commands_markdown(std::span<const Command> all) {
  std::string text =
      "# The command line\n\n"
      "<!-- Written by `mete help --markdown`: change src/cli, not this file. -->\n\n"
      "Options are written `--option VALUE` or `--option=VALUE`, anywhere after the command; after `--` all words are\n"
      "arguments. `mete help COMMAND` and `mete COMMAND --help` print what stands here; `man mete` too, once it is\n"
      "installed.\n\n";
  text += markdown_table("command", listed_commands(all));
  for (const Command& command : all) {
    if (!command.is_hidden) text += command_markdown(command);
  }
  text.pop_back();
  return text;
}

}  // namespace mete::cli
