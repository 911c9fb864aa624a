#include "server/doors/resp/command_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "server/doors/resp/arguments.h"
#include "unit/server/doors/resp/words.h"

namespace mete::server {
namespace {

std::string in_case(std::string_view name, int (*change)(int)) {
  std::string text(name);
  for (char& letter : text) letter = static_cast<char>(change(letter));
  return text;
}

const Command& command(std::string_view name) {
  const auto found = find_command(words_of(name));
  EXPECT_NE(found.command, nullptr) << name;
  EXPECT_EQ(found.command->name, name);
  return *found.command;
}

TEST(CommandTable, FindsEveryCommandInAnyCase) {
  for (const Command& expected : all_commands()) {
    std::string mixed = in_case(expected.name, std::tolower);
    for (std::size_t index = 0; index < mixed.size(); index += 2) mixed[index] = expected.name[index];
    for (const std::string& name : {std::string(expected.name), in_case(expected.name, std::tolower), mixed}) {
      const FoundCommand found = find_command(words_of(name));
      EXPECT_EQ(found.command, &expected) << name;
      EXPECT_EQ(found.arity, expected.arity()) << name;
    }
  }
}

TEST(CommandTable, FindsNothingElse) {
  for (const Command& command : all_commands()) {
    const std::string container(command.container());
    for (const std::string& name : {container + " ", container + std::string(1, '\0'), container + "X", " " + container,
                                    container.substr(1), container.substr(0, container.size() - 1) + "\xff"}) {
      const std::string_view word = name;
      const auto found = find_command({&word, 1});
      // One name may begin as another: COMMAND, COMMIT; HOLD, HOLDS.
      if (found.command == nullptr) continue;
      EXPECT_EQ(in_case(found.command->container(), std::tolower), in_case(name, std::tolower));
    }
  }
  for (const std::string_view word : {"", "G", "GETX", "gêt", "0123456789abcdef", "01234567890abcdef", "@", "`"}) {
    const auto found = find_command({&word, 1});
    EXPECT_EQ(found.command, nullptr) << word;
    EXPECT_FALSE(found.is_container) << word;
  }
}

TEST(CommandTable, TellsContainersWithoutTheirSubcommand) {
  for (const std::string_view text : {"LIMIT", "limit FOO", "CLIENT", "SLOWLOG x", "COMMAND FOO", "command foo bar"}) {
    const auto found = find_command(words_of(text));
    EXPECT_EQ(found.command, nullptr) << text;
    EXPECT_TRUE(found.is_container) << text;
  }
  // Containers that are commands themselves.
  EXPECT_EQ(find_command(words_of("HOLDS api alice")).command->name, "HOLDS");
  EXPECT_EQ(find_command(words_of("HOLDS tag x")).command->name, "HOLDS TAG");
  EXPECT_EQ(find_command(words_of("COMMAND")).command->name, "COMMAND");
  EXPECT_EQ(find_command(words_of("command docs get")).command->name, "COMMAND DOCS");
}

TEST(CommandTable, ASubcommandIsFoundInItsContainerAlone) {
  for (const Command& command : all_commands()) {
    if (!command.is_subcommand()) continue;
    for (const Command& other : all_commands()) {
      if (!other.is_subcommand()) continue;
      const std::string name =
          std::string(command.container()) + std::string(other.name.substr(other.container().size()));
      const auto found = find_command(words_of(name));
      if (found.command == nullptr || found.name_words != 2) continue;
      EXPECT_EQ(found.command->name, name);
    }
  }
}

TEST(CommandTable, CountsWordsAsRedisDoes) {
  const struct {
    std::string_view name;
    int arity;
  } rows[] = {
      {"GET", 2},        {"SET", -3},         {"INCR", 2},           {"INCRBY", 3},       {"MGET", -2},
      {"DEL", -2},       {"EXPIREAT", -3},    {"PING", -1},          {"ECHO", 2},         {"HELLO", -1},
      {"AUTH", -2},      {"SELECT", 2},       {"CLIENT ID", 2},      {"CLIENT KILL", -3}, {"COMMAND", 1},
      {"SCAN", -2},      {"CONFIG GET", -3},  {"CONFIG SET", -3},    {"FLUSHALL", -1},    {"TIME", 1},
      {"SHUTDOWN", -1},  {"SLOWLOG GET", -2}, {"TAKE", -3},          {"HOLD", -5},        {"COMMIT", -2},
      {"LIMIT SET", -5}, {"EXTEND", 4},       {"LIMIT OVERRIDE", 5}, {"CL.THROTTLE", -5}, {"QUOTAINCR", -4},
      {"USAGE", 3},
  };
  for (const auto& row : rows) EXPECT_EQ(command(row.name).arity(), row.arity) << row.name;
}

TEST(CommandTable, WritesTheSyntax) {
  const struct {
    std::string_view name;
    std::string_view syntax;
  } rows[] = {
      {"TAKE", "TAKE limit key [COST n] [AND limit key [COST n]]… [ID op] [FORCE | UPTO] [WAIT duration]"},
      {"PEEK", "PEEK limit key [COST n] [AND limit key [COST n]]…"},
      {"COMMIT", "COMMIT id [n …] [OVERAGE]"},
      {"SET",
       "SET key value [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | KEEPTTL] [NX | XX] "
       "[GET]"},
      {"MGET", "MGET key …"},
      {"EXPIRE", "EXPIRE key seconds [NX|XX|GT|LT …]"},
      {"EXTEND", "EXTEND id TTL duration"},
      {"HOLD", "HOLD limit key [COST n] [AND limit key [COST n]]… TTL duration [ID id] [TAG text]"},
      {"LIMIT SET",
       "LIMIT SET name BUCKET amount | WINDOW amount | SLIDING amount | CALENDAR amount | STOCK amount "
       "[PER duration|HOUR|DAY|WEEK|MONTH|YEAR] [BURST n] [ZONE Area/City] [ANCHOR n] [DURABLE always|everysec|never] "
       "[ONFAIL closed|open|local] [SHADOW] [SCOPE node|shared|escrow]"},
      {"PING", "PING [message]"},
      {"TIME", "TIME"},
      {"LIMIT DEL", "LIMIT DEL name"},
  };
  for (const auto& row : rows) EXPECT_EQ(command(row.name).syntax(), row.syntax);
}

// What goes through all meters, or waits for a snapshot that is being written, keeps no event loop waiting.
TEST(CommandTable, WhatChangesLimitsRunsBesideTheEventLoops) {
  for (const char* const name :
       {"LIMIT SET", "LIMIT DEL", "LIMIT OVERRIDE", "STORE DEFINE", "STORE DROP", "STORE AMEND"}) {
    EXPECT_TRUE(command(name).has(kSlow)) << name;
  }
}

TEST(CommandTable, IsDeclaredWhole) {
  std::set<std::string_view> names;
  for (const Command& command : all_commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_NE(command.handler, nullptr) << command.name;
    EXPECT_FALSE(command.summary.empty() || command.summary.ends_with('.')) << command.name;
    EXPECT_FALSE(command.reply.empty()) << command.name;
    EXPECT_LE(command.arguments.size(), kArgumentsMax) << command.name;
    EXPECT_FALSE(command.has(kFast) && command.has(kSlow)) << command.name;
    EXPECT_FALSE(command.has(kWrite) && command.has(kReadOnly)) << command.name;
    EXPECT_TRUE(command.group == Group::kConnection || command.has(kWrite) || command.has(kReadOnly)) << command.name;
    std::set<std::string_view> tokens = {"AND", "COST"};
    bool is_option_seen = false;
    bool is_optional_seen = false;
    for (const Argument& argument : command.arguments) {
      EXPECT_FALSE(argument.name.empty()) << command.name;
      if (!argument.is_option()) {
        EXPECT_FALSE(is_option_seen) << command.name << ": a positional argument behind an option";
        EXPECT_TRUE(!is_optional_seen) << command.name << ": an argument behind one that may be absent";
        EXPECT_NE(argument.type, ArgumentType::kFlag) << command.name;
        EXPECT_EQ(argument.choice, 0) << command.name;
        is_optional_seen = is_optional_seen || argument.is_optional || argument.is_multiple;
      } else {
        EXPECT_TRUE(tokens.insert(argument.word).second) << command.name << " " << argument.word;
        EXPECT_EQ(in_case(argument.word, std::toupper), argument.word) << command.name;
        EXPECT_FALSE(argument.is_multiple) << command.name;
        is_option_seen = true;
      }
    }
  }
}

// A command that shows or changes what others did, or the server itself, is not for everyone.
TEST(CommandTable, AdminsCommandsAreAdmins) {
  for (const std::string_view name :
       {"RECONCILE", "LIMIT SET", "LIMIT DEL", "LIMIT OVERRIDE", "QUOTASET", "QUOTADEL", "CLIENT LIST", "CLIENT KILL",
        "CONFIG GET", "CONFIG SET", "FLUSHALL", "FLUSHDB", "SAVE", "BGSAVE", "SHUTDOWN", "MONITOR", "SLOWLOG GET"}) {
    EXPECT_EQ(command(name).access, Access::kAdmin) << name;
  }
  std::set<std::string_view> open;
  for (const Command& command : all_commands()) {
    if (command.access == Access::kAnyone) open.insert(command.name);
  }
  EXPECT_EQ(open, (std::set<std::string_view>{"HELLO", "AUTH", "QUIT", "RESET"}));
}

}  // namespace
}  // namespace mete::server
