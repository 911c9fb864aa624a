#include "cli/help/help.h"

#include <algorithm>
#include <vector>

#include "base/names.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

// In single quotes, as all three shells read them; fish alone lets a backslash escape in them.
std::string shell_quoted(std::string_view text, bool is_fish = false) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      result += is_fish ? "\\'" : "'\\''";
    } else if (letter == '\\' && is_fish) {
      result += "\\\\";
    } else {
      result += letter;
    }
  }
  return result + "'";
}

struct Node {
  std::string name;  // "limit", "set"
  std::string summary;
};

const Command* find_within(std::span<const Command> all, const std::string& group, const std::string& word) {
  return find_command(all, group.empty() ? word : group + " " + word);
}

std::vector<Node> nodes(std::span<const Command> all, const std::string& group) {
  std::vector<Node> result;
  for (const std::string& word : words_after(all, group)) {
    const Command* const command = find_within(all, group, word);
    result.push_back({word, command == nullptr ? word + " commands" : command->summary});
  }
  return result;
}

std::vector<std::string> groups(std::span<const Command> all) {
  std::vector<std::string> words = words_after(all);
  std::erase_if(words, [&](const std::string& word) { return !is_group(all, word); });
  return words;
}

// "hard soft"
std::string names_of(const Argument& argument) { return joined(base::split_names(argument.names), " "); }

// --- bash ------------------------------------------------------------------------------------------------------------

std::string bash_action(const Argument& argument) {
  if (argument.type == ArgumentType::kFile) return "_mete_files -f";
  if (argument.type == ArgumentType::kFolder) return "_mete_files -d";
  return argument.names.empty() ? ":" : "_mete_words " + shell_quoted(names_of(argument));
}

// What may follow as an argument, by its place; nothing if there is nothing to offer at any.
std::string bash_arguments(const Command& command, const std::string& options_with_value) {
  std::string cases;
  bool offers_any = false;
  for (std::size_t index = 0; index < command.arguments.size(); ++index) {
    const Argument& argument = command.arguments[index];
    const std::string action = bash_action(argument);
    offers_any = offers_any || action != ":";
    cases += "        " + (argument.is_multiple ? "*" : std::to_string(index)) + ") " + action + " ;;\n";
  }
  if (!offers_any) return {};
  const std::string start = wire::is_subcommand(command.name) ? "3" : "2";
  return "      case $(_mete_place " + start + " " + shell_quoted(options_with_value) + ") in\n" + cases +
         "      esac\n";
}

// What may follow the options that take a value, and which options there are.
std::string bash_command(const Command& command) {
  std::string options = "--help";
  std::vector<std::string> with_value;
  std::string text;
  for (const Argument& option : command.options) {
    const std::string word = "--" + std::string(option.word);
    options += " " + word;
    if (option.type == ArgumentType::kFlag) continue;
    with_value.push_back(word);
    text += "        " + word + ") " + bash_action(option) + "; return ;;\n";
  }
  if (!text.empty()) text = "      case $previous in\n" + text + "      esac\n";
  text += "      if [[ $current == -* ]]; then _mete_words " + shell_quoted(options) + "; return; fi\n";
  text += bash_arguments(command, joined(with_value, " "));
  return "    " + shell_quoted(command.name) + ")\n" + text + "      ;;\n";
}

constexpr std::string_view kBashStart = R"(# Completion of mete(1) for bash, written by `mete completion bash`.

_mete_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

_mete_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

# _mete_place START OPTIONS: how many arguments stand between word START and the present one; OPTIONS take a value.
_mete_place() {
  local index=$1 place=0
  for (( ; index < COMP_CWORD; ++index)); do
    if [[ ${COMP_WORDS[index]} != -* ]]; then
      place=$((place + 1))
    elif [[ ${COMP_WORDS[index + 1]} == '=' ]]; then
      index=$((index + 2))
    elif [[ " $2 " == *" ${COMP_WORDS[index]} "* ]]; then
      index=$((index + 1))
    fi
  done
  echo "$place"
}

_mete() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  # Of --option=value bash makes three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

// --- zsh -------------------------------------------------------------------------------------------------------------

// Text within the brackets or between the colons of a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') result += '\\';
    result += letter;
  }
  return result;
}

std::string zsh_action(const Argument& argument) {
  if (argument.type == ArgumentType::kFile) return "_files";
  if (argument.type == ArgumentType::kFolder) return "_files -/";
  return argument.names.empty() ? " " : "(" + names_of(argument) + ")";
}

std::string zsh_arguments(const Command& command, const std::string& indent) {
  std::string text = indent + "_arguments -S \\\n" + indent + "  " + shell_quoted("--help[Print a summary]");
  for (const Argument& option : command.options) {
    const bool is_flag = option.type == ArgumentType::kFlag;
    std::string spec = (option.is_multiple ? "*--" : "--") + std::string(option.word) + (is_flag ? "[" : "=[") +
                       zsh_text(option.help) + "]";
    if (!is_flag) spec += ":" + zsh_text(option.name) + ":" + zsh_action(option);
    text += " \\\n" + indent + "  " + shell_quoted(spec);
  }
  for (std::size_t index = 0; index < command.arguments.size(); ++index) {
    const Argument& argument = command.arguments[index];
    const std::string place =
        argument.is_multiple ? "*" : std::to_string(index + 1) + (argument.is_optional ? ":" : "");
    text += " \\\n" + indent + "  " + shell_quoted(place + ":" + zsh_text(argument.name) + ":" + zsh_action(argument));
  }
  return text + "\n";
}

std::string zsh_describe(const std::vector<Node>& all, const std::string& indent) {
  std::string text = indent + "commands=(\n";
  for (const Node& node : all) text += indent + "  " + shell_quoted(zsh_text(node.name) + ":" + node.summary) + "\n";
  return text + indent + ")\n" + indent + "_describe -t commands command commands\n";
}

// Of all commands, or within a group; the shell's list of words is cut down to what follows it.
std::string zsh_case(std::span<const Command> all, const std::string& group, const std::string& indent) {
  std::string text = indent + "if (( CURRENT == 2 )); then\n" + zsh_describe(nodes(all, group), indent + "  ") +
                     indent + "  return\n" + indent + "fi\n" + indent + "shift words\n" + indent + "(( CURRENT-- ))\n" +
                     indent + "case $words[1] in\n";
  for (const std::string& word : words_after(all, group)) {
    const Command* const command = find_within(all, group, word);
    text.append(indent).append("  ").append(word).append(")\n");
    text += command == nullptr ? zsh_case(all, word, indent + "    ") : zsh_arguments(*command, indent + "    ");
    text += indent + "    ;;\n";
  }
  return text + indent + "esac\n";
}

// --- fish ------------------------------------------------------------------------------------------------------------

std::string fish_value(const Argument& option) {
  if (option.type == ArgumentType::kFlag) return "";
  if (option.type == ArgumentType::kFile) return " -r -F";
  if (option.type == ArgumentType::kFolder) return " -x -a '(__fish_complete_directories)'";
  return option.names.empty() ? " -x" : " -x -a " + shell_quoted(names_of(option), true);
}

std::string fish_option(const Argument& option) {
  return " -l " + std::string(option.word) + fish_value(option) + " -d " + shell_quoted(option.help, true) + "\n";
}

std::string fish_command(const Command& command) {
  std::string condition = "__fish_seen_subcommand_from " + command.name;
  if (const std::size_t space = command.name.find(' '); space != std::string::npos) {
    condition = "__fish_seen_subcommand_from " + command.name.substr(0, space) + "; and __fish_seen_subcommand_from " +
                command.name.substr(space + 1);
  }
  const std::string start = "complete -c mete -n " + shell_quoted(condition, true);
  std::string text = start + " -l help -s h -d 'Print a summary'\n";
  for (const Argument& option : command.options) text += start + fish_option(option);
  for (const Argument& argument : command.arguments) {
    if (argument.type == ArgumentType::kFile) text += start + " -F\n";
    if (!argument.names.empty()) text += start + " -a " + shell_quoted(names_of(argument), true) + "\n";
  }
  return text;
}

}  // namespace

std::string bash_completion(std::span<const Command> all) {
  std::string text(kBashStart);
  text +=
      "  if ((COMP_CWORD == 1)); then _mete_words " + shell_quoted(joined(words_after(all), " ")) + "; return; fi\n";
  for (const std::string& group : groups(all)) {
    text += "  if [[ $command == " + group + " ]]; then\n    if ((COMP_CWORD == 2)); then _mete_words " +
            shell_quoted(joined(words_after(all, group), " ")) +
            "; return; fi\n    command+=\" ${COMP_WORDS[2]}\"\n  fi\n";
  }
  text += "  case $command in\n";
  for (const Command& command : all) {
    if (!command.is_hidden) text += bash_command(command);
  }
  return text + "  esac\n}\n\ncomplete -F _mete mete\n";
}

std::string zsh_completion(std::span<const Command> all) {
  return "#compdef mete\n# Completion of mete(1) for zsh, written by `mete completion zsh`.\n\n"
         "_mete() {\n  local -a commands\n" +
         zsh_case(all, "", "  ") + "}\n\n_mete \"$@\"\n";
}

std::string fish_completion(std::span<const Command> all) {
  std::string text = "# Completion of mete(1) for fish, written by `mete completion fish`.\n\ncomplete -c mete -f\n";
  for (const Node& node : nodes(all, "")) {
    text +=
        "complete -c mete -n __fish_use_subcommand -a " + node.name + " -d " + shell_quoted(node.summary, true) + "\n";
  }
  for (const std::string& group : groups(all)) {
    const std::string condition = "__fish_seen_subcommand_from " + group + "; and not __fish_seen_subcommand_from " +
                                  joined(words_after(all, group), " ");
    for (const Node& node : nodes(all, group)) {
      text += "complete -c mete -n " + shell_quoted(condition, true) + " -a " + node.name + " -d " +
              shell_quoted(node.summary, true) + "\n";
    }
  }
  for (const Command& command : all) {
    if (!command.is_hidden) text += fish_command(command);
  }
  return text;
}

}  // namespace mete::cli
