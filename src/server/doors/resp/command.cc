#include "server/doors/resp/command.h"

#include <cctype>

#include "base/names.h"

namespace mete::server {

namespace {

std::string syntax_of(const Argument& argument) {
  std::string text = std::string(argument.word);
  if (argument.type == ArgumentType::kCharges) return "limit key [COST n] [AND limit key [COST n]]…";
  if (argument.type != ArgumentType::kFlag) {
    if (!text.empty()) text += ' ';
    text += argument.name;
  }
  if (argument.is_multiple) text += " …";
  return text;
}

}  // namespace

std::string_view to_string(Group group) {
  return base::name_of("decisions|holds|limits|keys|quotas|throttles|connection|server|store", group);
}

int Command::arity() const {
  int words = static_cast<int>(name_words());
  bool is_fixed = true;
  std::uint8_t choice = 0;  // the last required one that has been counted
  for (const Argument& argument : arguments) {
    if (argument.type == ArgumentType::kCharges) {
      words += 2;
      is_fixed = false;
    } else if (argument.may_be_absent()) {
      is_fixed = false;
    } else if (argument.choice == 0 || argument.choice != choice) {
      words += !argument.is_option() || argument.type == ArgumentType::kFlag ? 1 : 2;
      is_fixed = is_fixed && !argument.is_multiple;
      choice = argument.choice;
    }
  }
  return is_fixed ? words : -words;
}

std::string Command::syntax() const {
  std::string text(name);
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const Argument& argument = arguments[index];
    const bool continues = index > 0 && argument.choice != 0 && arguments[index - 1].choice == argument.choice;
    const bool is_continued =
        index + 1 < arguments.size() && argument.choice != 0 && arguments[index + 1].choice == argument.choice;
    text += continues ? " | " : " ";
    if (argument.may_be_absent() && !continues) text += '[';
    text += syntax_of(argument);
    if (argument.may_be_absent() && !is_continued) text += ']';
  }
  return text;
}

std::string redis_name(std::string_view name) {
  std::string text(name);
  for (char& letter : text) letter = letter == ' ' ? '|' : static_cast<char>(std::tolower(letter));
  return text;
}

}  // namespace mete::server
