// The table of subcommands.
#include "cli/bench/bench_command.h"
#include "cli/builtin.h"
#include "cli/check_config.h"
#include "cli/command.h"
#include "cli/demo.h"
#include "cli/serve.h"

namespace mete::cli {

std::span<const Command> commands() {
  static const std::vector<Command> kAll = {
      serve_command(), check_config_command(), bench_command(),      demo_command(),
      help_command(),  version_command(),      completion_command(), man_command(),
  };
  return kAll;
}

}  // namespace mete::cli
