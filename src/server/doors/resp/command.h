// Command: what the server can be asked, declared once. The parser, COMMAND DOCS, the documentation, and the checks of
// roles and arity all come from this declaration; see command_table.cc.
//
// A command is: positional arguments, then options in any order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/key_operations.h"
#include "server/doors/authentication.h"
#include "wire/argument.h"
#include "wire/resp_writer.h"

namespace mete::server {

using wire::Argument;
using wire::ArgumentType;

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
  kTogether = 32,  // requests that have arrived together, each a charge and nothing else or a step, are served together
  kInMulti = 64,   // carried out between MULTI and EXEC too
};

class Arguments;
struct CommandContext;
using Handler = void (*)(CommandContext& context);

// How a command that is one step on a key is served together with others. `words` are behind its name.
struct StepForm {
  // False if the request is of another shape than nearly all are, or wrong: then its handler serves it.
  bool (*read)(std::span<const std::string_view> words, core::KeyStep& step);
  void (*write)(wire::RespWriter& reply, const core::KeyStepAnswer& answer);
};

struct Command {
  std::string_view name;  // "TAKE"; a subcommand with its container in front: "LIMIT SET"
  Group group;
  Access access;
  std::uint32_t flags;
  std::span<const Argument> arguments;
  Handler handler;
  std::string_view summary;
  std::string_view reply;          // what it answers, in a few words
  const StepForm* step = nullptr;  // of a command that is kTogether, and no take

  [[nodiscard]] bool has(CommandFlag flag) const { return (flags & flag) != 0; }
  // The first word behind its name is a key.
  [[nodiscard]] bool takes_key() const { return !arguments.empty() && arguments[0].type == ArgumentType::kKey; }
  [[nodiscard]] bool takes_charges() const { return !arguments.empty() && arguments[0].type == ArgumentType::kCharges; }
  [[nodiscard]] bool is_subcommand() const { return wire::is_subcommand(name); }
  // The words of the name: 2 for a subcommand.
  [[nodiscard]] std::size_t name_words() const { return is_subcommand() ? 2 : 1; }
  [[nodiscard]] std::string_view container() const { return wire::container_of(name); }
  // Words, as Redis counts them: the name too; negative: at least so many.
  [[nodiscard]] int arity() const;
  // "LIMIT SET name BUCKET amount …": one line for people.
  [[nodiscard]] std::string syntax() const;
};

// A command's name as Redis writes it in replies: "limit|set".
[[nodiscard]] std::string redis_name(std::string_view name);

}  // namespace mete::server
