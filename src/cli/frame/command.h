// Command: a subcommand of `mete`, declared once. The parser, help, manual pages, shell completions and docs/cli.md
// come from it.
//
// To add a subcommand: a file with its handler and the function that returns its Command, its declaration in
// cli/commands.h, and a line in src/commands.cc.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mete::wire {
class JsonWriter;
}

namespace mete::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;     // the answer is no: denied, or not as it should be
inline constexpr int kExitError = 2;  // there is no answer: the command line is wrong, or something failed

enum class ValueKind : std::uint8_t {
  kNone,  // the option is a switch; `--switch=false` takes it back
  kText,
  kNumber,    // a decimal integer
  kDuration,  // "250ms", "5m"
  kFile,
  kFolder,
  kChoice,
};

struct Option {
  std::string name;  // without its dashes
  ValueKind kind = ValueKind::kNone;
  std::string value_name = {};  // "N", in help
  std::string help = {};        // a sentence without its full stop
  std::string default_text = {};
  std::string environment = {};  // the variable that is read where the option is not given
  std::vector<std::string> choices = {};
  bool is_repeatable = false;
  bool is_required = false;
};

struct Argument {
  std::string name;  // "LIMIT"
  std::string help = {};
  ValueKind kind = ValueKind::kText;
  std::vector<std::string> choices = {};
  bool is_optional = false;
  bool is_repeated = false;  // the last one may take all that follows
};

struct Example {
  std::string command;
  std::string purpose;
};

struct ExitStatus {
  int status;
  std::string meaning;
};

// Where a command reads and writes.
struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& error;
  std::map<std::string, std::string> environment;
};

struct Invocation;

struct Command {
  std::string name;                           // "take"; "limit set" belongs to the group "limit"
  std::string summary;                        // a sentence without its full stop
  std::vector<std::string> description = {};  // paragraphs
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};
  std::vector<Example> examples = {};
  std::vector<ExitStatus> statuses = {};                      // besides kExitDone and kExitError
  Result<int> (*run)(const Invocation&, Console&) = nullptr;  // the exit status; an error is told by run() below
  bool is_hidden = false;                                     // works, but is not listed
};

// What somebody typed, checked against the command's declaration.
struct Invocation {
  const Command* command = nullptr;
  std::span<const Command> all;  // for commands about commands
  std::map<std::string, std::vector<std::string>> options = {};
  // For each value in `options`, how many of the arguments stood before it.
  std::map<std::string, std::vector<std::size_t>> places = {};
  std::vector<std::string> arguments = {};
  bool wants_help = false;

  // Whether the switch is on.
  [[nodiscard]] bool is_on(const std::string& option) const;
  // As given on the command line.
  [[nodiscard]] std::optional<std::string> given(const std::string& option) const;
  // As given, or else from the option's variable, or else its default; empty where there is none of these.
  [[nodiscard]] std::string value(const std::string& option, const Console& console) const;
  // The same of a number or a duration, as the parser has seen that it is one; 0 where it is empty.
  [[nodiscard]] std::int64_t number(const std::string& option, const Console& console) const;
  [[nodiscard]] Duration duration(const std::string& option, const Console& console) const;
  // The argument at `index`, or "".
  [[nodiscard]] std::string argument(std::size_t index) const;
  // The arguments from `first` on, which are numbers.
  [[nodiscard]] std::vector<std::int64_t> numbers(std::size_t first) const;
};

// All subcommands of `mete`, in the order in which help lists them.
std::span<const Command> commands();

// "mete: MESSAGE" to the console's errors; returns `status`.
int fail(Console& console, std::string_view message, int status = kExitError);
// The same for a command line that the parser could not see to be wrong; tells where help is.
int fail_usage(const Invocation& invocation, Console& console, std::string_view message);
// One line with a JSON object, whose members `write` writes.
void print_json(Console& console, const std::function<void(wire::JsonWriter&)>& write);

// The command line into an Invocation. Options stand anywhere after the command, as --option VALUE or --option=VALUE;
// after -- all words are arguments. The error says what is wrong, after the command's name where that is known:
// "take: unknown option '--foo'".
Result<Invocation> parse(std::span<const Command> all, const std::vector<std::string>& words);

const Command* find_command(std::span<const Command> all, std::string_view name);
// Whether there are commands "NAME …".
bool is_group(std::span<const Command> all, std::string_view name);

// Parses, and does what is asked for; returns the exit status. `words` are those after the program's name.
int run(std::span<const Command> all, const std::vector<std::string>& words, Console& console);

}  // namespace mete::cli
