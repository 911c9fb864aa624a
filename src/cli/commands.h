// The subcommands of the program, room by room. src/commands.cc is the table that lists them.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

// serving: the server, and whether it would accept its configuration.
Command serve_command();
Command check_config_command();

// data: data directories, and the schema in a PostgreSQL. They need no server, and all but `restore`, `repair` and
// `migrate` only look.
Command backup_command();
Command restore_command();
Command inspect_command();
Command verify_command();
Command repair_command();
Command migrate_command();

// limits
Command limit_set_command();
Command limit_get_command();
Command limit_list_command();
Command limit_del_command();
Command limit_override_command();
Command sync_command();

// decisions
Command take_command();
Command peek_command();
Command give_command();
Command usage_command();
Command reconcile_command();
Command hold_command();
Command commit_command();
Command cancel_command();
Command extend_command();
Command holds_command();

// import
Command import_redis_command();

// top: what a server is doing, live.
Command top_command();

// help: the commands about the program itself.
Command help_command();
Command version_command();
Command completion_command();
Command man_command();

}  // namespace mete::cli
