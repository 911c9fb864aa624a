#include "server/doors/resp/arguments.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "wire/text.h"

namespace mete::server {

namespace {

Error syntax_error() { return base::invalid("syntax error"); }

// What stands behind the last argument; as Redis says it where a command has no options that it could be one of.
Error too_much(const Command& command) {
  for (const Argument& argument : command.arguments) {
    if (argument.is_option() || argument.type == ArgumentType::kCharges) return syntax_error();
  }
  return base::invalid("wrong number of arguments for '" + redis_name(command.name) + "' command");
}

Error not_an_integer() { return base::invalid("value is not an integer or out of range"); }

}  // namespace

Result<void> Arguments::read(const Command& command, std::span<const std::string_view> words) {
  present_ = 0;
  charge_count_ = 0;
  rest_ = {};
  std::size_t index = 0;
  for (; index < command.arguments.size() && !command.arguments[index].is_option(); ++index) {
    const Argument& argument = command.arguments[index];
    if (argument.type == ArgumentType::kCharges) {
      if (words.size() < 2) return syntax_error();
      charges_[0] = {words[0], words[1], 1};
      charge_count_ = 1;
      has_cost_ = false;
      words = words.subspan(2);
      continue;
    }
    if (words.empty()) break;  // The arity has been checked: what is missing is optional.
    if (argument.is_multiple) {
      std::size_t count = 0;
      const auto is_token = [&](std::string_view word) {
        return std::ranges::any_of(command.arguments, [&](const Argument& option) {
          return option.is_option() && wire::equals_ignoring_case(option.word, word);
        });
      };
      const bool is_last = index + 1 == command.arguments.size();
      if (is_last) count = words.size();
      while (count < words.size() && !is_token(words[count])) ++count;
      rest_ = words.first(count);
      words = words.subspan(count);
      if (count > 0) present_ |= 1U << index;
      continue;
    }
    if (!read_plainly(argument, index, words[0])) {
      TRY(read_value(argument, index, words[0]));
    }
    words = words.subspan(1);
  }
  while (!words.empty()) {
    TRY(read_option(command, words));
  }
  return {};
}

Result<void> Arguments::read_option(const Command& command, std::span<const std::string_view>& words) {
  const std::string_view token = words[0];
  words = words.subspan(1);
  if (charge_count_ > 0) {
    if (wire::equals_ignoring_case(token, "AND")) return add_charge(words);
    if (wire::equals_ignoring_case(token, "COST")) {
      if (words.empty() || has_cost_) return syntax_error();
      const auto cost = wire::parse_integer(words[0]);
      if (!cost) return not_an_integer();
      charges_[charge_count_ - 1].cost = *cost;
      has_cost_ = true;
      words = words.subspan(1);
      return {};
    }
  }
  for (std::size_t index = 0; index < command.arguments.size(); ++index) {
    const Argument& argument = command.arguments[index];
    if (!argument.is_option() || !wire::equals_ignoring_case(argument.word, token)) continue;
    for (std::size_t other = 0; other < command.arguments.size(); ++other) {
      const bool excludes =
          other == index || (argument.choice != 0 && command.arguments[other].choice == argument.choice);
      if (excludes && has(other)) return syntax_error();
    }
    if (argument.type == ArgumentType::kFlag) {
      present_ |= 1U << index;
      return {};
    }
    if (words.empty()) return syntax_error();
    const std::string_view word = words[0];
    words = words.subspan(1);
    return read_value(argument, index, word);
  }
  return too_much(command);
}

// A text or an integer, which nearly all are, without a Result. False, and it was neither: read_value() tells the rest.
bool Arguments::read_plainly(const Argument& argument, std::size_t index, std::string_view word) {
  CHECK(index < kArgumentsMax);
  Value& value = values_[index];
  if (argument.type == ArgumentType::kInteger) {
    const auto integer = wire::parse_integer(word);
    if (!integer) return false;
    value.integer = *integer;
  } else if (argument.type != ArgumentType::kText && argument.type != ArgumentType::kKey) {
    return false;
  }
  value.text = word;
  present_ |= 1U << index;
  return true;
}

Result<void> Arguments::read_value(const Argument& argument, std::size_t index, std::string_view word) {
  if (read_plainly(argument, index, word)) return {};
  Value& value = values_[index];
  value.text = word;
  present_ |= 1U << index;
  if (argument.type == ArgumentType::kInteger) return not_an_integer();
  value.integer = TRY(wire::read_argument(argument, word));
  return {};
}

Result<void> Arguments::add_charge(std::span<const std::string_view>& words) {
  if (words.size() < 2) return syntax_error();
  if (charge_count_ == kChargesMax) {
    return base::invalid("more than " + std::to_string(kChargesMax) + " charges in one operation");
  }
  charges_[charge_count_++] = {words[0], words[1], 1};
  has_cost_ = false;
  words = words.subspan(2);
  return {};
}

Result<std::int64_t> parse_integer(std::string_view word) {
  const auto integer = wire::parse_integer(word);
  if (!integer) return not_an_integer();
  return *integer;
}

}  // namespace mete::server
