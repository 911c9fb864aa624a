// A table of commands to test with: every kind of option and argument, a group, and one that is hidden. And words and
// replies for other tests of the command line.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/frame/command.h"
#include "wire/resp_reply.h"

namespace mete::cli {

using Words = std::vector<std::string>;

inline wire::RespValue bulk(std::string text) { return {.type = wire::RespType::kBulk, .text = std::move(text)}; }

// Prints what it was given: "take api alice cost=5".
inline Result<int> echo_invocation(const Invocation& invocation, Console& console) {
  console.out << invocation.command->name;
  for (const std::string& argument : invocation.arguments) console.out << ' ' << argument;
  for (const auto& [name, values] : invocation.options) {
    for (const std::string& value : values) console.out << ' ' << name << '=' << value;
  }
  console.out << '\n';
  return 7;
}

inline const std::vector<Command>& test_commands() {
  static const std::vector<Command> kCommands = {
      {.name = "take",
       .summary = "May this happen",
       .description = {"It's \\fBone\\fR step.", ".TH is no request here"},
       .arguments = {{.name = "LIMIT", .help = "The limit"}, {.name = "KEY", .help = "Who"}},
       .options = {{.word = "cost",
                    .type = ArgumentType::kInteger,
                    .name = "N",
                    .help = "How much",
                    .default_text = "1",
                    .environment = "TEST_COST"},
                   flag("force", "Even past the limit"),
                   {.word = "wait", .type = ArgumentType::kDuration, .name = "DURATION", .help = "How long"},
                   {.word = "mode", .type = ArgumentType::kName, .name = "MODE", .help = "How", .names = "hard|soft"},
                   {.word = "and", .type = ArgumentType::kText, .name = "CHARGE", .help = "More", .is_multiple = true}},
       .examples = {{"mete take api alice", "One unit"}},
       .statuses = {{kExitNo, "denied"}, {3, "unknown limit"}},
       .run = echo_invocation},
      {.name = "limit set",
       .summary = "Define a limit",
       .arguments = {{.name = "NAME"}, {.name = "WORD", .is_optional = true, .is_multiple = true}},
       .run = echo_invocation},
      {.name = "limit list", .summary = "List the limits", .run = echo_invocation},
      {.name = "version", .summary = "Print the version", .run = echo_invocation},
      {.name = "secret", .summary = "Not listed", .run = echo_invocation, .is_hidden = true},
  };
  return kCommands;
}

struct Ran {
  int status;
  std::string out;
  std::string error;
};

inline Ran run_words(const std::vector<Command>& commands, const std::vector<std::string>& words,
                     std::map<std::string, std::string> environment = {}) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream error;
  Console console{in, out, error, std::move(environment)};
  const int status = run(commands, words, console);
  return {status, out.str(), error.str()};
}

}  // namespace mete::cli
