#include "cli/check_config.h"

#include <ostream>

#include "cli/config_options.h"
#include "server/config.h"
#include "server/limit_reload.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

// In quotes, so that a line stays a line whatever the value is.
void print_values(const server::Config& config, std::ostream& out) {
  for (const server::ConfigValue& each : server::list_values(config)) {
    out << each.name << " = " << wire::quote(each.value, each.value.size()) << '\n';
  }
}

int run_check_config(const Invocation& invocation, Console& console) {
  server::ConfigSources sources = config_sources(invocation, console);
  const std::string file = invocation.argument(0);
  if (!file.empty()) {
    if (invocation.given("config")) {
      return fail_usage(invocation, console, "FILE and --config are the same; give one of them");
    }
    sources.file = file;
  }
  const auto config = server::load_config(sources);
  if (!config) return fail(console, config.error().message, kExitNo);
  if (const auto ok = server::check_limits(config->limits); !ok) return fail(console, ok.error().message, kExitNo);
  if (invocation.is_on("print")) print_values(*config, console.out);
  const std::size_t limits = config->limits.size();
  console.out << (sources.file.empty() ? "the configuration" : sources.file) << " is good: " << limits
              << (limits == 1 ? " limit\n" : " limits\n");
  return kExitDone;
}

}  // namespace

Command check_config_command() {
  std::vector<Option> options = {
      {.name = "print", .help = "Print every setting with its value first; passwords as ***"}};
  for (Option& option : config_options()) options.push_back(std::move(option));
  return {.name = "check-config",
          .summary = "Check the configuration of the server, and change nothing",
          .description = {"Reads the file, the environment and the flags as 'mete serve' does, and says what is wrong "
                          "with them: file, line and column, or variable or flag."},
          .arguments = {{.name = "FILE",
                         .help = "The configuration, in TOML; instead of --config",
                         .kind = ValueKind::kFile,
                         .is_optional = true}},
          .options = std::move(options),
          .examples = {{"mete check-config /etc/mete/mete.toml", "Check a file before the server reloads it"}},
          .statuses = {{kExitNo, "the configuration is wrong, or cannot be read"}},
          .run = run_check_config};
}

}  // namespace mete::cli
