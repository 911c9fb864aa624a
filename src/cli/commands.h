// The subcommands of the program, room by room. src/commands.cc is the table that lists them.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

using Declare = Command();

// serving: the server, whether it would accept its configuration and its rules, and the end of a node of a cluster.
Declare serve_command, check_config_command, envoy_check_command, retire_command;

// data: data directories, and the schema in a PostgreSQL. They need no server, and all but `restore`, `repair` and
// `migrate` only look.
Declare backup_command, restore_command, inspect_command, verify_command, repair_command, migrate_command;

// limits
Declare limit_set_command, limit_get_command, limit_list_command, limit_del_command, limit_override_command,
    sync_command;

// decisions
Declare take_command, peek_command, give_command, usage_command, reconcile_command, hold_command, commit_command,
    cancel_command, extend_command, holds_command;

// import
Declare import_redis_command;

// top: what a server is doing, live.
Declare top_command;

// help: the commands about the program itself.
Declare help_command, version_command, completion_command, man_command;

}  // namespace mete::cli
