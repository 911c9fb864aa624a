// COMMAND and its subcommands, and HELP of every container: all from the table.
#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/names.h"
#include "server/doors/resp/command_table.h"
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

// Containers are no commands of their own here, but clients expect to see them.
struct Listed {
  const Command* command;  // a container's first subcommand
  bool is_container;
};

// Whoever asks for more names has no use for the answers; there are some 150.
constexpr std::size_t kNamesMax = 1'000;

std::vector<Listed> list_commands() {
  std::vector<Listed> listed;
  for (const Command& command : all_commands()) {
    if (!command.is_subcommand()) {
      listed.push_back({&command, false});
      continue;
    }
    const bool is_first = std::none_of(listed.begin(), listed.end(), [&](const Listed& other) {
      return other.command->container() == command.container();
    });
    if (is_first) listed.push_back({&command, true});
  }
  return listed;
}

std::string listed_name(const Listed& listed) {
  return listed.is_container ? redis_name(listed.command->name).substr(0, listed.command->container().size())
                             : redis_name(listed.command->name);
}

const std::vector<Listed>& listed_commands() {
  static const std::vector<Listed> kListed = list_commands();
  return kListed;
}

// Containers, commands and subcommands; null if there is none of that name.
const Listed* find_listed(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string, Listed> by_name;
    for (const Listed& listed : listed_commands()) by_name.emplace(listed_name(listed), listed);
    for (const Command& command : all_commands()) by_name.emplace(redis_name(command.name), Listed{&command, false});
    return by_name;
  }();
  std::string lower(name);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const auto found = kByName.find(lower);
  return found == kByName.end() ? nullptr : &found->second;
}

bool refuses_names(CommandContext& context) {
  if (context.arguments.rest().size() <= kNamesMax) return false;
  context.reply.error("ERR", fmt::format("more than {} names in one command", kNamesMax));
  return true;
}

// Where keys stand, as Redis tells cluster clients: first, last, step. A limit's name is not a key.
int key_position(const Command& command) {
  int position = static_cast<int>(command.name_words());
  for (const Argument& argument : command.arguments) {
    if (argument.type == ArgumentType::kCharges) return position + 1;
    if (argument.type == ArgumentType::kKey) return position;
    ++position;
  }
  return 0;
}

void write_flags(wire::RespWriter& reply, const Command& command) {
  std::vector<std::string_view> flags;
  if (command.has(kWrite)) flags.emplace_back("write");
  if (command.has(kReadOnly)) flags.emplace_back("readonly");
  if (command.has(kFast)) flags.emplace_back("fast");
  if (command.access == Access::kAdmin) flags.emplace_back("admin");
  if (command.access == Access::kAnyone) flags.emplace_back("no_auth");
  reply.set(flags.size());
  for (const std::string_view flag : flags) reply.simple(flag);
}

void write_info(wire::RespWriter& reply, const Listed& listed) {
  const Command& command = *listed.command;
  const int key = listed.is_container ? 0 : key_position(command);
  reply.array(10);
  reply.bulk(listed_name(listed));
  reply.integer(listed.is_container ? -2 : command.arity());
  write_flags(reply, command);
  const bool is_last_open = !listed.is_container && !command.arguments.empty() &&
                            command.arguments.back().is_multiple && command.arguments.back().type == ArgumentType::kKey;
  reply.integer(key);
  reply.integer(is_last_open ? -1 : key);
  reply.integer(key > 0 ? 1 : 0);
  reply.set(1);
  reply.simple(fmt::format("@{}", to_string(command.group)));
  reply.array(0);  // tips
  reply.array(0);  // key specifications
  reply.array(0);  // subcommands
}

std::string_view redis_type(const Argument& argument) {
  return base::name_of("string|key|integer|string|double|pure-token|block", argument.type);
}

constexpr std::array kChargeParts = {
    Argument{.name = "limit"},
    Argument{.type = ArgumentType::kKey, .name = "key"},
    Argument{.word = "COST", .type = ArgumentType::kInteger, .name = "n"},
};
constexpr Argument kFurtherCharges = {
    .word = "AND", .type = ArgumentType::kCharges, .name = "charge", .is_multiple = true};

// Charges are a block of parts, the last of which is the block of further charges; redis-cli relies on there being
// parts.
void write_argument(wire::RespWriter& reply, const Argument& argument, bool is_optional) {
  const bool is_block = argument.type == ArgumentType::kCharges;
  const bool is_further = &argument == &kFurtherCharges;
  std::vector<std::string_view> flags;
  if (is_optional) flags.emplace_back("optional");
  if (argument.is_multiple) flags.emplace_back("multiple");
  if (is_further) flags.emplace_back("multiple_token");
  reply.map(2U + (argument.is_option() ? 1U : 0U) + (flags.empty() ? 0U : 1U) + (is_block ? 1U : 0U));
  reply.bulk("name");
  reply.bulk(argument.name);
  reply.bulk("type");
  reply.bulk(redis_type(argument));
  if (argument.is_option()) {
    reply.bulk("token");
    reply.bulk(argument.word);
  }
  if (!flags.empty()) {
    reply.bulk("flags");
    reply.set(flags.size());
    for (const std::string_view flag : flags) reply.simple(flag);
  }
  if (is_block) {
    reply.bulk("arguments");
    reply.array(kChargeParts.size() + (is_further ? 0U : 1U));
    for (const Argument& part : kChargeParts) write_argument(reply, part, part.may_be_absent());
    if (!is_further) write_argument(reply, kFurtherCharges, true);
  }
}

// Arguments that exclude each other.
void write_choice(wire::RespWriter& reply, std::span<const Argument> arguments) {
  const bool is_optional = arguments[0].may_be_absent();
  reply.map(is_optional ? 4 : 3);
  reply.bulk("name");
  reply.bulk(fmt::format("choice-{}", arguments[0].choice));
  reply.bulk("type");
  reply.bulk("oneof");
  if (is_optional) {
    reply.bulk("flags");
    reply.set(1);
    reply.simple("optional");
  }
  reply.bulk("arguments");
  reply.array(arguments.size());
  for (const Argument& argument : arguments) write_argument(reply, argument, false);
}

// The first argument, and those that exclude it: they stand together.
std::span<const Argument> first_choice(std::span<const Argument> arguments) {
  std::size_t count = 1;
  while (count < arguments.size() && arguments[0].choice != 0 && arguments[count].choice == arguments[0].choice) {
    ++count;
  }
  return arguments.first(count);
}

void write_arguments(wire::RespWriter& reply, std::span<const Argument> arguments) {
  std::vector<std::span<const Argument>> choices;
  for (; !arguments.empty(); arguments = arguments.subspan(choices.back().size())) {
    choices.push_back(first_choice(arguments));
  }
  reply.bulk("arguments");
  reply.array(choices.size());
  for (const auto& choice : choices) {
    if (choice.size() == 1) {
      write_argument(reply, choice[0], choice[0].may_be_absent());
    } else {
      write_choice(reply, choice);
    }
  }
}

std::vector<const Command*> subcommands_of(const Listed& listed) {
  std::vector<const Command*> subcommands;
  if (!listed.is_container && listed.command->is_subcommand()) return subcommands;
  for (const Command& command : all_commands()) {
    if (command.is_subcommand() && command.container() == listed.command->container()) subcommands.push_back(&command);
  }
  return subcommands;
}

void write_docs(wire::RespWriter& reply, const Listed& listed) {
  const Command& command = *listed.command;
  const auto arguments = listed.is_container ? std::span<const Argument>() : command.arguments;
  const auto subcommands = subcommands_of(listed);
  reply.map(3U + (arguments.empty() ? 0U : 1U) + (subcommands.empty() ? 0U : 1U));
  reply.bulk("summary");
  reply.bulk(listed.is_container ? fmt::format("A container for {} commands.", command.container())
                                 : std::string(command.summary));
  reply.bulk("since");
  reply.bulk("0.1.0");
  reply.bulk("group");
  reply.bulk(to_string(command.group));
  if (!arguments.empty()) write_arguments(reply, arguments);
  if (subcommands.empty()) return;
  reply.bulk("subcommands");
  reply.map(subcommands.size());
  for (const Command* subcommand : subcommands) {
    reply.bulk(redis_name(subcommand->name));
    write_docs(reply, {subcommand, false});
  }
}

void write_docs(wire::RespWriter& reply, std::span<const Listed> wanted) {
  reply.map(wanted.size());
  for (const Listed& listed : wanted) {
    reply.bulk(listed_name(listed));
    write_docs(reply, listed);
  }
}

// The docs of all commands, written once: they are long, and redis-cli asks for them whenever it starts.
const std::string& all_docs(wire::RespVersion version) {
  const auto write_all = [](wire::RespVersion in_version) {
    base::Output output;
    wire::RespWriter reply(output, in_version);
    write_docs(reply, listed_commands());
    return std::string(output.view());
  };
  static const std::string kDocs2 = write_all(wire::RespVersion::k2);
  static const std::string kDocs3 = write_all(wire::RespVersion::k3);
  return version == wire::RespVersion::k3 ? kDocs3 : kDocs2;
}

using NameFilter = bool (*)(const Command& command, std::string_view name, std::string_view wanted);

NameFilter find_filter(std::string_view word) {
  if (wire::equals_ignoring_case(word, "MODULE")) {
    return [](const Command&, std::string_view, std::string_view) { return false; };  // there are none
  }
  if (wire::equals_ignoring_case(word, "ACLCAT")) {
    return [](const Command& command, std::string_view, std::string_view wanted) {
      return wire::equals_ignoring_case(to_string(command.group), wanted);
    };
  }
  if (wire::equals_ignoring_case(word, "PATTERN")) {
    return
        [](const Command&, std::string_view name, std::string_view wanted) { return wire::matches_glob(wanted, name); };
  }
  return nullptr;
}

// Containers, and all commands and subcommands.
std::vector<std::string> filtered_names(NameFilter is_wanted, std::string_view wanted) {
  std::vector<std::string> names;
  const auto add = [&](const Command& command, std::string name) {
    if (is_wanted(command, name, wanted)) names.push_back(std::move(name));
  };
  for (const Listed& listed : listed_commands()) {
    if (listed.is_container) add(*listed.command, listed_name(listed));
  }
  for (const Command& command : all_commands()) add(command, redis_name(command.name));
  return names;
}

void write_help(wire::RespWriter& reply, std::string_view container) {
  std::vector<std::string> lines;
  for (const Command& command : all_commands()) {
    if (!command.is_subcommand() || command.container() != container) continue;
    lines.push_back(command.syntax());
    lines.push_back("    " + std::string(command.summary));
  }
  reply.array(lines.size());
  for (const std::string& line : lines) reply.simple(line);
}

}  // namespace

void command_list(CommandContext& context) {
  const auto& listed = listed_commands();
  context.reply.array(listed.size());
  for (const Listed& command : listed) write_info(context.reply, command);
}

void command_count(CommandContext& context) {
  context.reply.integer(static_cast<std::int64_t>(listed_commands().size()));
}

void command_info(CommandContext& context) {
  if (context.arguments.rest().empty()) {
    command_list(context);
    return;
  }
  if (refuses_names(context)) return;
  context.reply.array(context.arguments.rest().size());
  for (const std::string_view name : context.arguments.rest()) {
    if (const Listed* const listed = find_listed(name)) {
      write_info(context.reply, *listed);
    } else {
      context.reply.null();
    }
  }
}

void command_docs(CommandContext& context) {
  if (context.arguments.rest().empty()) {
    context.reply.written(all_docs(context.reply.version()));
    return;
  }
  if (refuses_names(context)) return;
  // A map has each name once, however often it is asked for.
  std::vector<Listed> wanted;
  std::unordered_set<const Listed*> seen;
  for (const std::string_view name : context.arguments.rest()) {
    const Listed* const listed = find_listed(name);
    if (listed != nullptr && seen.insert(listed).second) wanted.push_back(*listed);
  }
  write_docs(context.reply, wanted);
}

// FILTERBY MODULE name, ACLCAT category or PATTERN pattern; our categories are the groups.
void command_names(CommandContext& context) {
  const auto words = context.arguments.rest();
  std::vector<std::string> names;
  if (words.empty()) {
    for (const Listed& listed : listed_commands()) names.push_back(listed_name(listed));
  } else if (const auto filter = words.size() == 3 && wire::equals_ignoring_case(words[0], "FILTERBY")
                                     ? find_filter(words[1])
                                     : nullptr) {
    if (refuses_pattern(context, words[2])) return;
    names = filtered_names(filter, words[2]);
  } else {
    context.reply.error("ERR", "syntax error");
    return;
  }
  write_strings(context.reply, names);
}

void limit_help(CommandContext& context) { write_help(context.reply, "LIMIT"); }
void client_help(CommandContext& context) { write_help(context.reply, "CLIENT"); }
void command_help(CommandContext& context) { write_help(context.reply, "COMMAND"); }
void config_help(CommandContext& context) { write_help(context.reply, "CONFIG"); }
void slowlog_help(CommandContext& context) { write_help(context.reply, "SLOWLOG"); }
void cluster_help(CommandContext& context) { write_help(context.reply, "CLUSTER"); }

}  // namespace mete::server::commands
