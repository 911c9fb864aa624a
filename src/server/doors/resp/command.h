// Command: what the server can be asked, declared once. The parser, COMMAND DOCS, the documentation, and the checks of
// roles and arity all come from this declaration; see command_table.cc.
//
// A command is: positional arguments, then options in any order. An option is a token, most with a value behind it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/doors/authentication.h"

namespace mete::server {

enum class ArgumentType : std::uint8_t {
  kText,      // any word
  kKey,       // a word that names who is charged, or a key
  kInteger,   // 64 bits, signed
  kDuration,  // "250ms", "1s", …; a bare integer is seconds
  kDecimal,   // seconds, perhaps with a fraction: "0.5"
  kFlag,      // a token that stands alone
  kCharges,   // limit key [COST n] [AND limit key [COST n]]…
};

struct Argument {
  std::string_view name;
  ArgumentType type = ArgumentType::kText;
  std::string_view token = {};  // an option's; none: the argument is positional
  bool is_optional = false;     // of a positional one
  bool is_multiple = false;     // all the words that follow
  std::uint8_t choice = 0;      // options with the same number exclude each other; 0: with none
  bool is_required = false;     // of an option, or of one of a choice: the handler looks whether it is there

  [[nodiscard]] bool may_be_absent() const { return token.empty() ? is_optional : !is_required; }
};

enum class Group : std::uint8_t {
  kDecisions,
  kHolds,
  kLimits,
  kKeys,
  kQuotas,
  kThrottles,
  kConnection,
  kServer,
  kStore,
};
inline constexpr std::size_t kGroups = 9;

std::string_view to_string(Group group);

enum CommandFlag : std::uint32_t {
  kWrite = 1,
  kReadOnly = 2,
  kFast = 4,       // constant time, or nearly: not timed one by one
  kSlow = 8,       // takes time in proportion to all there is: runs beside the event loops
  kSecret = 16,    // its arguments are never shown
  kTogether = 32,  // requests that have arrived together, each a charge and nothing else, are served together
  kInMulti = 64,   // carried out between MULTI and EXEC too
};

class Arguments;
struct CommandContext;
using Handler = void (*)(CommandContext& context);

struct Command {
  std::string_view name;  // "TAKE"; a subcommand with its container in front: "LIMIT SET"
  Group group;
  Access access;
  std::uint32_t flags;
  std::span<const Argument> arguments;
  Handler handler;
  std::string_view summary;
  std::string_view reply;  // what it answers, in a few words

  [[nodiscard]] bool has(CommandFlag flag) const { return (flags & flag) != 0; }
  [[nodiscard]] bool takes_charges() const { return !arguments.empty() && arguments[0].type == ArgumentType::kCharges; }
  [[nodiscard]] bool is_subcommand() const { return name.find(' ') != std::string_view::npos; }
  // The words of the name: 2 for a subcommand.
  [[nodiscard]] std::size_t name_words() const { return is_subcommand() ? 2 : 1; }
  [[nodiscard]] std::string_view container() const { return name.substr(0, name.find(' ')); }
  // Words, as Redis counts them: the name too; negative: at least so many.
  [[nodiscard]] int arity() const;
  // "LIMIT SET name BUCKET amount …": one line for people.
  [[nodiscard]] std::string syntax() const;
};

// A command's name as Redis writes it in replies: "limit|set".
[[nodiscard]] std::string redis_name(std::string_view name);

}  // namespace mete::server
