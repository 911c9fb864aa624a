// The table of subcommands.
#include "cli/data/data_commands.h"
#include "cli/data/migrate_command.h"
#include "cli/decisions/decision_commands.h"
#include "cli/decisions/hold_commands.h"
#include "cli/frame/command.h"
#include "cli/help/builtin.h"
#include "cli/import/import_command.h"
#include "cli/limits/limit_commands.h"
#include "cli/limits/sync_command.h"
#include "cli/serving/check_config.h"
#include "cli/serving/serve.h"
#include "cli/top/top_command.h"
#include "lab/bench/bench_command.h"
#include "lab/cluster/cluster_command.h"
#include "lab/sim/sim_command.h"

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
