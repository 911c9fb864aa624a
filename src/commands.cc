// The table of subcommands, in the order in which help lists them.
#include "cli/commands.h"

#include "lab/commands.h"

namespace mete::cli {

std::span<const Command> commands() {
  static const std::vector<Command> kAll = {
      // The server.
      serve_command(),
      check_config_command(),
      envoy_check_command(),
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
      retire_command(),
      top_command(),
      lab::cluster_command(),
      lab::bench_command(),
      lab::sim_command(),
      help_command(),
      version_command(),
      completion_command(),
      man_command(),
  };
  return kAll;
}

}  // namespace mete::cli
