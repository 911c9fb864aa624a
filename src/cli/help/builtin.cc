// `mete help`, `version`, `completion` and `man`.
#include <filesystem>
#include <fstream>
#include <ostream>

#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/frame/command.h"
#include "cli/frame/text.h"
#include "cli/help/help.h"
#include "server/configuration/config_text.h"
#include "server/doors/grpc/method.h"
#include "server/doors/resp/command_table.h"

namespace mete::cli {

namespace {

constexpr std::string_view kConfigurationTopic = "configuration";
constexpr std::string_view kProtoTopic = "proto";
constexpr std::string_view kCommandsTopic = "commands";

// "limit set" may be typed as two words.
std::string topic_of(const Invocation& invocation) {
  std::string topic;
  for (const std::string& word : invocation.arguments) topic += (topic.empty() ? "" : " ") + word;
  return topic;
}

Result<int> unknown_command(const Invocation& invocation, const std::string& name, Console& console) {
  std::vector<std::string> names = {std::string(kConfigurationTopic), std::string(kCommandsTopic),
                                    std::string(kProtoTopic)};
  for (const Listed& each : listed_commands(invocation.all)) names.push_back(each.name);
  return fail(console, "there is no command " + shown(name) + base::did_you_mean(name, names));
}

Result<int> run_help(const Invocation& invocation, Console& console) {
  const std::string topic = topic_of(invocation);
  const Command* command = find_command(invocation.all, topic);
  if (topic == kConfigurationTopic) {
    console.out << (invocation.is_on("markdown") ? in_columns(server::config_markdown()) : server::config_text());
  } else if (topic == kCommandsTopic) {
    console.out << (invocation.is_on("markdown") ? in_columns(server::commands_markdown()) : server::commands_text());
  } else if (topic == kProtoTopic) {
    console.out << server::grpc_files().files().at("mete.v1").text();
  } else if (topic.empty()) {
    console.out << (invocation.is_on("markdown") ? in_columns(commands_markdown(invocation.all))
                                                 : overview_text(invocation.all));
  } else if (command != nullptr) {
    console.out << help_text(*command);
  } else if (is_group(invocation.all, topic)) {
    console.out << group_text(invocation.all, topic);
  } else if (const auto text = server::command_text(topic)) {
    console.out << *text;
  } else {
    return unknown_command(invocation, topic, console);
  }
  return kExitDone;
}

Result<int> run_version(const Invocation&, Console& console) {
  console.out << "mete " METE_VERSION "\n";
  return kExitDone;
}

Result<int> run_completion(const Invocation& invocation, Console& console) {
  const std::string shell = invocation.argument(0);
  if (shell == "bash") console.out << bash_completion(invocation.all);
  if (shell == "zsh") console.out << zsh_completion(invocation.all);
  if (shell == "fish") console.out << fish_completion(invocation.all);
  return kExitDone;
}

Result<int> write_pages(const std::filesystem::path& folder, const Invocation& invocation, Console& console) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const ManPage& page : manual(invocation.all)) {
    std::ofstream file(folder / page.file, std::ios::binary);
    file << page.text;
    file.close();
    if (!file) return fail(console, "cannot write " + shown((folder / page.file).string()));
  }
  return kExitDone;
}

Result<int> run_man(const Invocation& invocation, Console& console) {
  if (const auto folder = invocation.given("output")) return write_pages(*folder, invocation, console);
  std::string name = topic_of(invocation);
  std::string file = name.empty() ? "mete.1" : name == kConfigurationTopic ? "mete.toml.5" : "mete-" + name + ".1";
  for (char& letter : file) letter = letter == ' ' ? '-' : letter;
  for (const ManPage& page : manual(invocation.all)) {
    if (page.file != file) continue;
    console.out << page.text;
    return kExitDone;
  }
  return unknown_command(invocation, name, console);
}

Argument topic_argument(std::string_view help) {
  return {.name = "COMMAND", .help = help, .is_optional = true, .is_multiple = true};
}

}  // namespace

Command help_command() {
  return {.name = "help",
          .summary = "Explain the commands, or one of them",
          .arguments = {topic_argument(
              "The command to explain: the program's, or one of the server's such as TAKE; 'commands' "
              "lists the server's, 'configuration' explains its settings, 'proto' is its gRPC as a .proto file")},
          .options = {flag("markdown", "Print all of it as Markdown")},
          .examples = {{"mete help configuration", "Explain the settings of the server"},
                       {"mete help commands", "List the commands of the server"},
                       {"mete help LIMIT SET", "Explain one of them"}},
          .run = run_help};
}

Command version_command() { return {.name = "version", .summary = "Print the version", .run = run_version}; }

Command completion_command() {
  return {.name = "completion",
          .summary = "Print the completions for a shell",
          .description = {"An installed mete has its completions where bash, zsh and fish look for them."},
          .arguments = {{.type = ArgumentType::kName, .name = "SHELL", .help = "The shell", .names = "bash|zsh|fish"}},
          .examples = {{"source <(mete completion bash)", "Complete in this bash"}},
          .run = run_completion};
}

Command man_command() {
  return {.name = "man",
          .summary = "Print a manual page, or write all of them",
          .arguments = {topic_argument("The command to explain; 'configuration' explains the settings of the server")},
          .options = {{"output", ArgumentType::kFolder, "DIRECTORY", "Write all pages into it"}},
          .run = run_man,
          .is_hidden = true};
}

}  // namespace mete::cli
