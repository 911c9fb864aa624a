// The handlers of the commands, by subject. command_table.cc names them.
#pragma once

#include <cstddef>
#include <string_view>

#include "server/doors/resp/command.h"

namespace mete::server {
struct CommandContext;
}

namespace mete::server::commands {

using Handle = void(CommandContext& context);

// decisions.cc
// To a store an empty id is none. One that was given must not become that: it is answered with an error here.
bool refuses_empty_id(CommandContext& context, std::size_t index);
Handle take, peek, give, usage, reconcile;

// holds.cc
Handle hold, commit, cancel, extend, hold_get, holds, holds_tag;

// limits.cc
Handle limit_set, limit_get, limit_list, limit_del, limit_override, limit_sync, limit_syncs;

// steps.cc
extern const StepForm kIncrStep, kIncrByStep, kDecrStep, kDecrByStep, kIncrexStep, kQuotaIncrStep, kCellStep,
    kThrottleStep;
void write_cell(wire::RespWriter& reply, const core::Verdict& verdict);
void write_throttle(wire::RespWriter& reply, const core::Verdict& verdict);

// keys.cc
Handle get, set, setex, psetex, setnx, incr, incrby, decr, decrby, getdel, mget, increx, exists, del, type, ttl, pttl,
    expire, pexpire, expireat, pexpireat, expiretime, pexpiretime, persist, dbsize, keys, scan;

// ruled_keys.cc
Handle quotaset, quotaget, quotadel, quotaincr, cl_throttle, gcra, throttle;

// server.cc
Handle info, cluster_info, cluster_nodes, cluster_retire, config_get, config_set, config_resetstat, flushall, time,
    monitor, slowlog_get, slowlog_len, slowlog_reset, top;

// saving.cc
Handle save, bgsave, lastsave, shutdown;

// transactions.cc
Handle multi, exec, discard, watch, unwatch;

// clients.cc
// A client's name is printable, without spaces; one that is not is answered with an error here.
bool refuses_client_name(CommandContext& context, std::string_view name);
void set_client_name(CommandContext& context, std::string_view name);
Handle client_id, client_getname, client_setname, client_setinfo, client_list, client_info, client_kill;

// connection.cc, command.cc
Handle ping, echo, hello, auth, quit, reset, select, command_list, command_count, command_docs, command_info,
    command_names;
// `LIMIT HELP` and so on: a line for each subcommand, and what it does.
Handle limit_help, client_help, command_help, config_help, slowlog_help, cluster_help;

}  // namespace mete::server::commands
