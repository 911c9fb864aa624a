// The handlers of the commands, by subject. command_table.cc names them.
#pragma once

#include "server/resp_session.h"

namespace mete::server::commands {

// commands_decisions.cc
void take(CommandContext& context);
void peek(CommandContext& context);
void give(CommandContext& context);
void usage(CommandContext& context);
void reconcile(CommandContext& context);

// commands_holds.cc
void hold(CommandContext& context);
void commit(CommandContext& context);
void cancel(CommandContext& context);
void extend(CommandContext& context);
void hold_get(CommandContext& context);
void holds(CommandContext& context);
void holds_tag(CommandContext& context);

// commands_limits.cc
void limit_set(CommandContext& context);
void limit_get(CommandContext& context);
void limit_list(CommandContext& context);
void limit_del(CommandContext& context);
void limit_override(CommandContext& context);

// commands_connection.cc, commands_command.cc
void ping(CommandContext& context);
void echo(CommandContext& context);
void hello(CommandContext& context);
void auth(CommandContext& context);
void quit(CommandContext& context);
void reset(CommandContext& context);
void select(CommandContext& context);
void client_id(CommandContext& context);
void client_getname(CommandContext& context);
void client_setname(CommandContext& context);
void client_setinfo(CommandContext& context);
void client_list(CommandContext& context);
void client_info(CommandContext& context);
void client_kill(CommandContext& context);
void command_list(CommandContext& context);
void command_count(CommandContext& context);
void command_docs(CommandContext& context);
void command_info(CommandContext& context);
void command_names(CommandContext& context);
// `CONTAINER HELP`: a line for each subcommand, and what it does.
void write_container_help(wire::RespWriter& reply, std::string_view container);

}  // namespace mete::server::commands
