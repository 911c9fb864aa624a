#include "cli/frame/command.h"

#include <algorithm>

#include "base/errors.h"
#include "base/suggest.h"
#include "base/try.h"
#include "cli/frame/text.h"
#include "cli/help/help.h"

namespace mete::cli {

namespace {

std::string list_text(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t index = 0; index < words.size(); ++index) {
    if (index > 0) text += index + 1 == words.size() ? " or " : ", ";
    text += words[index];
  }
  return text;
}

// `what` names the option or argument in the error.
Result<void> check_value(const std::string& what, const Argument& argument, const std::string& value) {
  const auto read = wire::read_argument(argument, value);
  if (read) return {};
  const bool is_told = argument.type == ArgumentType::kDuration;  // what is wrong with it, and not how it must be
  return base::invalid(what + (is_told ? ": " : " ") + read.error().message + (is_told ? "" : ", not " + shown(value)));
}

std::string dashed(const Argument& option) { return "--" + std::string(option.word); }

class Parser {
 public:
  Parser(const Command& command, std::span<const Command> all) {
    invocation_.command = &command, invocation_.all = all;
  }

  Result<Invocation> parse(std::span<const std::string> words) {
    bool are_options_over = false;
    for (words_ = words; !words_.empty() && !invocation_.wants_help;) {
      const std::string& word = words_.front();
      words_ = words_.subspan(1);
      if (are_options_over || word == "-" || !word.starts_with('-')) {
        invocation_.arguments.push_back(word);
      } else if (word == "--") {
        are_options_over = true;
      } else
        TRY(read_option(word));
    }
    if (!invocation_.wants_help) {
      TRY(check_arguments());
      TRY(check_required());
    }
    return std::move(invocation_);
  }

 private:
  // The value stands behind '=', or is the next word.
  Result<void> read_option(const std::string& word) {
    if (word == "-h" || word == "--help") {
      invocation_.wants_help = true;
      return {};
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Argument* option = find_option(name);
    if (option == nullptr) return base::invalid("unknown option " + shown(name) + suggest(name));
    std::string value = "true";
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (option->type != ArgumentType::kFlag) {
      if (words_.empty()) return base::invalid("option '" + name + "' needs a value: " + option_head(*option));
      value = words_.front();
      words_ = words_.subspan(1);
    }
    TRY(check_value("option '" + name + "'", *option, value));
    std::vector<std::string>& values = invocation_.options[option->word];
    if (!values.empty() && !option->is_multiple) return base::invalid("option '" + name + "' is given twice");
    values.push_back(std::move(value));
    invocation_.places[option->word].push_back(invocation_.arguments.size());
    return {};
  }

  [[nodiscard]] const Argument* find_option(const std::string& word) const {
    for (const Argument& option : invocation_.command->options) {
      if (dashed(option) == word) return &option;
    }
    return nullptr;
  }

  [[nodiscard]] std::string suggest(const std::string& word) const {
    std::vector<std::string> names = {"--help"};
    for (const Argument& option : invocation_.command->options) names.push_back(dashed(option));
    return base::did_you_mean(word, names);
  }

  Result<void> check_arguments() {
    const std::vector<Argument>& declared = invocation_.command->arguments;
    const std::vector<std::string>& given = invocation_.arguments;
    for (std::size_t index = 0; index < std::max(declared.size(), given.size()); ++index) {
      if (index >= given.size()) {
        if (declared[index].is_optional) break;
        return base::invalid(std::string(declared[index].name) + " is missing");
      }
      const bool is_beyond = index >= declared.size();
      if (is_beyond && (declared.empty() || !declared.back().is_multiple)) {
        return base::invalid("one argument too many: " + shown(given[index]));
      }
      const Argument& argument = is_beyond ? declared.back() : declared[index];
      TRY(check_value(std::string(argument.name), argument, given[index]));
    }
    return {};
  }

  Result<void> check_required() {
    for (const Argument& option : invocation_.command->options) {
      if (!option.is_required || invocation_.given(option.word)) continue;
      return base::invalid("option '" + dashed(option) + "' is missing: " + option_head(option));
    }
    return {};
  }

  Invocation invocation_;
  std::span<const std::string> words_;
};

}  // namespace

std::vector<std::string> words_after(std::span<const Command> all, std::string_view group) {
  std::vector<std::string> words;
  const std::string prefix = group.empty() ? "" : std::string(group) + " ";
  for (const Command& command : all) {
    if (command.is_hidden || !command.name.starts_with(prefix)) continue;
    const std::string word(wire::container_of(std::string_view(command.name).substr(prefix.size())));
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

const Command* find_command(std::span<const Command> all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool is_group(std::span<const Command> all, std::string_view name) {
  const std::string prefix = std::string(name) + " ";
  return std::any_of(all.begin(), all.end(), [&](const Command& each) { return each.name.starts_with(prefix); });
}

Result<Invocation> parse(std::span<const Command> all, const std::vector<std::string>& words) {
  if (words.empty()) return base::invalid("a command is missing");
  const bool is_pair = is_group(all, words[0]);
  if (is_pair && words.size() < 2) {
    return base::invalid(words[0] + " needs one of: " + list_text(words_after(all, words[0])));
  }
  const std::string name = is_pair ? words[0] + " " + words[1] : words[0];
  const Command* command = find_command(all, name);
  if (command == nullptr) {
    const std::string& unknown = is_pair ? words[1] : words[0];
    const auto names = words_after(all, is_pair ? words[0] : "");
    return base::invalid((is_pair ? words[0] + ": " : "") + "unknown command " + shown(unknown) +
                         base::did_you_mean(unknown, names));
  }
  auto invocation = Parser(*command, all).parse(std::span(words).subspan(is_pair ? 2 : 1));
  if (!invocation) return base::invalid(name + ": " + invocation.error().message);
  return invocation;
}

}  // namespace mete::cli
