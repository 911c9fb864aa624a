// The table of subcommands.
#include "cli/bench/bench_command.h"
#include "cli/builtin.h"
#include "cli/check_config.h"
#include "cli/cluster/cluster_command.h"
#include "cli/command.h"
#include "cli/data/data_commands.h"
#include "cli/decision_commands.h"
#include "cli/hold_commands.h"
#include "cli/import/import_command.h"
#include "cli/limit_commands.h"
#include "cli/migrate_command.h"
#include "cli/serve.h"
#include "cli/sim_command.h"
#include "cli/sync_command.h"
#include "cli/top/top_command.h"

namespace mete::cli {

std::span<const Command> commands() {
  static const std::vector<Command> kAll = {
      // The server.
      serve_command(),
      check_config_command(),
      // Its data.
      backup_command(),
      restore_command(),
      inspect_command(),
      verify_command(),
      repair_command(),
      migrate_command(),
      // Its limits.
      limit_set_command(),
      limit_get_command(),
      limit_list_command(),
      limit_del_command(),
      limit_override_command(),
      // Decisions.
      take_command(),
      peek_command(),
      give_command(),
      usage_command(),
      reconcile_command(),
      // Holds.
      hold_command(),
      commit_command(),
      cancel_command(),
      extend_command(),
      holds_command(),
      // Tools.
      sync_command(),
      import_redis_command(),
      top_command(),
      cluster_command(),
      bench_command(),
      sim_command(),
      help_command(),
      version_command(),
      completion_command(),
      man_command(),
  };
  return kAll;
}

}  // namespace mete::cli
