// The handlers of the commands, by subject. command_table.cc names them.
#pragma once

#include <cstddef>
#include <string_view>

namespace mete::server {
struct CommandContext;
}

namespace mete::server::commands {

// decisions.cc
// To a store an empty id is none. One that was given must not become that: it is answered with an error here.
bool refuses_empty_id(CommandContext& context, std::size_t index);
void take(CommandContext& context);
void peek(CommandContext& context);
void give(CommandContext& context);
void usage(CommandContext& context);
void reconcile(CommandContext& context);

// holds.cc
void hold(CommandContext& context);
void commit(CommandContext& context);
void cancel(CommandContext& context);
void extend(CommandContext& context);
void hold_get(CommandContext& context);
void holds(CommandContext& context);
void holds_tag(CommandContext& context);

// limits.cc
void limit_set(CommandContext& context);
void limit_get(CommandContext& context);
void limit_list(CommandContext& context);
void limit_del(CommandContext& context);
void limit_override(CommandContext& context);
void limit_sync(CommandContext& context);
void limit_syncs(CommandContext& context);

// keys.cc
void get(CommandContext& context);
void set(CommandContext& context);
void setex(CommandContext& context);
void psetex(CommandContext& context);
void setnx(CommandContext& context);
void incr(CommandContext& context);
void incrby(CommandContext& context);
void decr(CommandContext& context);
void decrby(CommandContext& context);
void getdel(CommandContext& context);
void mget(CommandContext& context);
void increx(CommandContext& context);
void exists(CommandContext& context);
void del(CommandContext& context);
void type(CommandContext& context);
void ttl(CommandContext& context);
void pttl(CommandContext& context);
void expire(CommandContext& context);
void pexpire(CommandContext& context);
void expireat(CommandContext& context);
void pexpireat(CommandContext& context);
void expiretime(CommandContext& context);
void pexpiretime(CommandContext& context);
void persist(CommandContext& context);
void dbsize(CommandContext& context);
void keys(CommandContext& context);
void scan(CommandContext& context);

// ruled_keys.cc
void quotaset(CommandContext& context);
void quotaget(CommandContext& context);
void quotadel(CommandContext& context);
void quotaincr(CommandContext& context);
void cl_throttle(CommandContext& context);
void gcra(CommandContext& context);
void throttle(CommandContext& context);

// store.cc
void store_take(CommandContext& context);
void store_recall(CommandContext& context);
void store_usage(CommandContext& context);
void store_shift(CommandContext& context);
void store_scan(CommandContext& context);
void store_hold(CommandContext& context);
void store_extend(CommandContext& context);
void store_find(CommandContext& context);
void store_holds(CommandContext& context);
void store_oldest(CommandContext& context);
void store_define(CommandContext& context);
void store_limit(CommandContext& context);
void store_override(CommandContext& context);
void store_stats(CommandContext& context);

// store_keys.cc
void store_set(CommandContext& context);
void store_increx(CommandContext& context);
void store_quotadel(CommandContext& context);
void store_throttle(CommandContext& context);
void store_remove(CommandContext& context);
void store_expires(CommandContext& context);
void store_expire(CommandContext& context);
void store_keys(CommandContext& context);

// server.cc
void info(CommandContext& context);
void cluster_info(CommandContext& context);
void cluster_nodes(CommandContext& context);
void config_get(CommandContext& context);
void config_set(CommandContext& context);
void config_resetstat(CommandContext& context);
void flushall(CommandContext& context);
void time(CommandContext& context);
void monitor(CommandContext& context);
void slowlog_get(CommandContext& context);
void slowlog_len(CommandContext& context);
void slowlog_reset(CommandContext& context);
void top(CommandContext& context);

// saving.cc
void save(CommandContext& context);
void bgsave(CommandContext& context);
void lastsave(CommandContext& context);
void shutdown(CommandContext& context);

// transactions.cc
void multi(CommandContext& context);
void exec(CommandContext& context);
void discard(CommandContext& context);
void watch(CommandContext& context);
void unwatch(CommandContext& context);

// clients.cc
// A client's name is printable, without spaces; one that is not is answered with an error here.
bool refuses_client_name(CommandContext& context, std::string_view name);
void set_client_name(CommandContext& context, std::string_view name);
void client_id(CommandContext& context);
void client_getname(CommandContext& context);
void client_setname(CommandContext& context);
void client_setinfo(CommandContext& context);
void client_list(CommandContext& context);
void client_info(CommandContext& context);
void client_kill(CommandContext& context);

// connection.cc, command.cc
void ping(CommandContext& context);
void echo(CommandContext& context);
void hello(CommandContext& context);
void auth(CommandContext& context);
void quit(CommandContext& context);
void reset(CommandContext& context);
void select(CommandContext& context);
void command_list(CommandContext& context);
void command_count(CommandContext& context);
void command_docs(CommandContext& context);
void command_info(CommandContext& context);
void command_names(CommandContext& context);
// `LIMIT HELP` and so on: a line for each subcommand, and what it does.
void limit_help(CommandContext& context);
void client_help(CommandContext& context);
void command_help(CommandContext& context);
void config_help(CommandContext& context);
void slowlog_help(CommandContext& context);
void cluster_help(CommandContext& context);

}  // namespace mete::server::commands
