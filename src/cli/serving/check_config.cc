// `mete check-config`: whether `mete serve` would accept its configuration.
#include <ostream>

#include "cli/commands.h"
#include "cli/serving/config_options.h"
#include "server/configuration/config_text.h"
#include "server/running/startup.h"

namespace mete::cli {

namespace {

Result<int> run_check_config(const Invocation& invocation, Console& console) {
  server::ConfigSources sources = config_sources(invocation, console);
  const std::string file = invocation.argument(0);
  if (!file.empty()) {
    if (invocation.given("config")) {
      return usage_error(invocation, "FILE and --config are the same; give one of them");
    }
    sources.file = file;
  }
  const auto startup = server::rehearse_start(sources);
  if (!startup) return fail(console, startup.error().message, kExitNo);
  const std::size_t limits = startup->config.limits.size();
  // What is printed can be read back: so the verdict is a comment there.
  if (invocation.is_on("print")) console.out << server::print_config(startup->config) << "\n# ";
  const std::size_t syncs = startup->config.syncs.size();
  console.out << (sources.file.empty() ? "the configuration" : sources.file) << " is good: " << limits
              << (limits == 1 ? " limit" : " limits");
  if (syncs > 0) console.out << ", " << syncs << (syncs == 1 ? " sync" : " syncs");
  console.out << "\n";
  return kExitDone;
}

}  // namespace

Command check_config_command() {
  return {
      .name = "check-config",
      .summary = "Check the configuration of the server, and change nothing",
      .description = {"Reads the file, the environment and the flags as 'mete serve' does, with the files that they "
                      "name, and says what is wrong with them: file, line and column, or variable or flag. What is "
                      "good can be started, but for addresses that are taken."},
      .arguments = {{.type = ArgumentType::kFile,
                     .name = "FILE",
                     .help = "The configuration, in TOML; instead of --config",
                     .is_optional = true}},
      .options = config_options(
          {flag("print", "Print all settings and limits first, as TOML; passwords as ***, in comments")}),
      .examples = {{"mete check-config /etc/mete/mete.toml", "Check a file before the server reloads it"}},
      .statuses = {{kExitNo, "the configuration is wrong, or cannot be read"}},
      .run = run_check_config};
}

}  // namespace mete::cli
