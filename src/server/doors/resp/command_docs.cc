#include "base/names.h"
#include "server/doors/resp/command_table.h"

#include <array>

#include "wire/text.h"

namespace mete::server {

namespace {

constexpr std::string_view kCommandsIntroduction = R"(# Commands

<!-- Written by `mete help --markdown commands`: change src/server/doors/resp/command_table.cc, not this file. -->

What the server can be asked in RESP, with redis-cli, with the client libraries of Redis, or by hand. Names and options
may be written in any case; options stand behind the arguments, in any order. `[…]` may be left out, `a | b` exclude each
other, `…` means one or more.

- **Durations** are `250ms`, `1s`, `5m`, `1h` or `30d`; a bare integer is seconds. Times in answers are milliseconds where
  their name ends in `_ms`, rounded up; -1 stands for never.
- **Bounds**: a name of a limit has 1 to 128 bytes without control characters, a key 1 to 512 bytes, an id 1 to 128, a tag 1 to
  512; an operation has at most 16 charges; a hold lives at most 366 days.
- **Errors** begin with a code: `NOLIMIT`, `NOHOLD`, `EXPIRED`, `EXCEEDS`, `MISMATCH`, `UNAVAILABLE`, `NOAUTH`, `WRONGPASS`,
  `NOPERM`, `WRONGTYPE`, `OOM`, or `ERR` for the rest. An error changes nothing. After a `Protocol error` the connection is
  closed.
- **Maps** are flat arrays of names and values in RESP2.
- **Who**: with passwords set, `anyone` may run a command before authentication, `look` with any password, `use` with that
  for use or the admin's, `admin` with the admin's.

What each operation does, to the unit and the nanosecond: [semantics.md](semantics.md).

)";

// In the order of Group.
constexpr std::array<std::string_view, kGroups> kTitles = {
    "Decisions", "Holds",          "Limits",     "Counters and keys, as Redis has them", "Quotas",
    "Throttles", "The connection", "The server", "The store, for other Mete servers"};

std::string_view title_of(Group group) { return kTitles[static_cast<std::size_t>(group)]; }

std::string_view to_string(Access access) { return base::name_of("anyone|look|use|admin", access); }

std::string text_of(const Command& command) {
  std::string text = command.syntax() + "\n    " + std::string(command.summary) + ".\n    → ";
  text.append(command.reply).append("\n    for ").append(to_string(command.access)).append("\n");
  return text;
}

}  // namespace

std::string commands_markdown() {
  std::string text(kCommandsIntroduction);
  std::optional<Group> group;
  for (const Command& command : all_commands()) {
    if (command.group != group) {
      group = command.group;
      text.append("## ").append(title_of(*group)).append("\n\n");
    }
    text.append("### ").append(command.name).append("\n\n    ").append(command.syntax()).append("\n\n");
    text.append(command.summary).append(".\n\n");
    text.append("- answer: ").append(command.reply).append("\n");
    text.append("- who: ").append(to_string(command.access)).append("\n\n");
  }
  text.pop_back();
  return text;
}

std::optional<std::string> command_text(std::string_view name) {
  std::string text;
  for (const Command& command : all_commands()) {
    if (!wire::equals_ignoring_case(command.name, name) && !wire::equals_ignoring_case(command.container(), name))
      continue;
    if (!text.empty()) text += "\n";
    text += text_of(command);
  }
  if (text.empty()) return std::nullopt;
  return text;
}

std::string commands_text() {
  std::string text;
  std::optional<Group> group;
  for (const Command& command : all_commands()) {
    if (command.group != group) {
      text.append(group ? "\n" : "").append(title_of(command.group)).append(":\n");
      group = command.group;
    }
    text.append("  ").append(command.syntax()).append("\n");
  }
  return text + "\n'mete help NAME' tells more about one of them.\n";
}

}  // namespace mete::server
