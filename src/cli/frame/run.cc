#include <algorithm>
#include <ostream>

#include "base/check.h"
#include "cli/frame/command.h"
#include "cli/help/help.h"
#include "wire/json.h"
#include "wire/text.h"

namespace mete::cli {

bool Invocation::is_on(const std::string& option) const { return given(option) == "true"; }

std::optional<std::string> Invocation::given(const std::string& option) const {
  const auto found = options.find(option);
  return found == options.end() ? std::nullopt : std::optional(found->second.back());
}

std::string Invocation::value(const std::string& option, const Console& console) const {
  if (const auto text = given(option)) return *text;
  const auto declared = std::find_if(command->options.begin(), command->options.end(),
                                     [&](const Option& each) { return each.name == option; });
  CHECK(declared != command->options.end());
  const auto variable = console.environment.find(declared->environment);
  return variable != console.environment.end() ? variable->second : declared->default_text;
}

std::int64_t Invocation::number(const std::string& option, const Console& console) const {
  return wire::parse_integer(value(option, console)).value_or(0);
}

Duration Invocation::duration(const std::string& option, const Console& console) const {
  return wire::parse_duration(value(option, console)).value_or(Duration());
}

std::vector<std::int64_t> Invocation::numbers(std::size_t first) const {
  std::vector<std::int64_t> numbers;
  for (std::size_t index = first; index < arguments.size(); ++index) {
    numbers.push_back(wire::parse_integer(arguments[index]).value_or(0));
  }
  return numbers;
}

std::string Invocation::argument(std::size_t index) const {
  return index < arguments.size() ? arguments[index] : std::string();
}

int fail(Console& console, std::string_view message, int status) {
  console.error << "mete: " << message << '\n';
  return status;
}

int fail_usage(const Invocation& invocation, Console& console, std::string_view message) {
  const std::string& name = invocation.command->name;
  return fail(console, name + ": " + std::string(message) + "\nTry 'mete " + name + " --help'.");
}

void print_json(Console& console, const std::function<void(wire::JsonWriter&)>& write) {
  std::string text;
  wire::JsonWriter writer(text);
  writer.begin_object();
  write(writer);
  writer.end_object();
  console.out << text << '\n';
}

namespace {

// The command line that explains what was meant, as far as that can be seen.
std::string help_for(std::span<const Command> all, const std::vector<std::string>& words) {
  const std::string pair = words.size() > 1 ? words[0] + " " + words[1] : "";
  if (find_command(all, pair) != nullptr) return "mete " + pair + " --help";
  const bool is_known = find_command(all, words[0]) != nullptr || is_group(all, words[0]);
  return is_known ? "mete " + words[0] + " --help" : "mete help";
}

}  // namespace

int run(std::span<const Command> all, const std::vector<std::string>& words, Console& console) {
  if (words.empty()) {
    console.error << overview_text(all);
    return kExitError;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    console.out << overview_text(all);
    return kExitDone;
  }
  std::vector<std::string> real_words = words;
  if (words[0] == "--version") real_words[0] = "version";
  const bool is_about_group = words.size() > 1 && (words[1] == "--help" || words[1] == "-h") && is_group(all, words[0]);
  if (is_about_group) {
    console.out << group_text(all, words[0]);
    return kExitDone;
  }
  const auto invocation = parse(all, real_words);
  if (!invocation) {
    return fail(console, invocation.error().message + "\nTry '" + help_for(all, real_words) + "'.");
  }
  if (invocation->wants_help) {
    console.out << help_text(*invocation->command);
    return kExitDone;
  }
  const auto status = invocation->command->run(*invocation, console);
  return status ? *status : fail(console, status.error().message);
}

}  // namespace mete::cli
