#include "server/doors/resp/command_table.h"

#include <array>
#include <vector>

#include "base/names.h"
#include "core/limit_fields.h"
#include "server/doors/resp/commands/commands.h"

namespace mete::server {

namespace {

// --- Arguments ------------------------------------------------------------------------------------------------------
// One array per command that has any; handlers name the positions.

namespace args {

// args::take are the arguments of commands::take: the same name, without a prefix.
// NOLINTBEGIN(readability-identifier-naming)

using enum ArgumentType;

constexpr Argument charges = {.type = kCharges, .name = "charges"};
constexpr Argument key = {.type = kKey, .name = "key"};
constexpr Argument word(std::string_view name, ArgumentType type = kText) { return {.type = type, .name = name}; }
constexpr Argument optional(std::string_view name, ArgumentType type = kText) {
  return {.type = type, .name = name, .is_optional = true};
}
constexpr Argument several(std::string_view name, ArgumentType type = kText) {
  return {.type = type, .name = name, .is_multiple = true};
}
constexpr Argument any_number(std::string_view name, ArgumentType type = kText) {
  return {.type = type, .name = name, .is_optional = true, .is_multiple = true};
}
// Options of one choice exclude each other.
constexpr Argument option(std::string_view word, std::string_view name, ArgumentType type = kText,
                          std::uint8_t choice = 0) {
  return {.word = word, .type = type, .name = name, .choice = choice};
}
constexpr Argument required(std::string_view word, std::string_view name, ArgumentType type, std::uint8_t choice = 0) {
  return {.word = word, .type = type, .name = name, .is_required = true, .choice = choice};
}
constexpr Argument flag(std::string_view name, std::string_view word, std::uint8_t choice = 0) {
  return {.word = word, .type = kFlag, .name = name, .choice = choice};
}

constexpr std::array take = {charges, option("ID", "op"), flag("force", "FORCE", 1), flag("upto", "UPTO", 1),
                             option("WAIT", "duration", kDuration)};
constexpr std::array peek = {charges};
constexpr std::array give = {charges, option("ID", "op")};
constexpr std::array meter = {word("limit"), key};
constexpr std::array reconcile = {word("limit"), key, word("used", kInteger)};

constexpr std::array hold = {charges, required("TTL", "duration", kDuration), option("ID", "id"),
                             option("TAG", "text")};
constexpr std::array commit = {word("id"), any_number("n", kInteger), flag("overage", "OVERAGE")};
constexpr std::array id = {word("id")};
constexpr std::array extend = {word("id"), required("TTL", "duration", kDuration)};
constexpr std::array holds = {word("limit"), key, option("COUNT", "n", kInteger)};
constexpr std::array text1 = {word("text")};

constexpr Argument limit_option(const core::LimitField& field) {
  if (field.type == core::FieldType::kFlag) return flag(field.name, field.word);
  const bool is_integer = field.type == core::FieldType::kAmount || field.type == core::FieldType::kNumber;
  return option(field.word, field.syntax, is_integer ? kInteger : kText);
}
constexpr auto limit_set = [] {
  std::array<Argument, 1 + base::count_names(core::kKindWords) + core::kLimitOptions.size()> all = {word("name")};
  std::size_t next = 1;
  base::any_name(core::kKindWords, [&](std::string_view kind) {
    all[next++] = required(kind, "amount", kInteger, 1);
    return false;
  });
  for (const std::size_t place : core::kLimitOptions) all[next++] = limit_option(core::kLimitFields[place]);
  return all;
}();
constexpr std::array name = {word("name")};
constexpr std::array limit_sync = {word("name"), flag("dryrun", "DRYRUN"), flag("force", "FORCE")};
constexpr std::array override = {word("name"), key, word("amount|NONE")};

constexpr std::array key1 = {key};
constexpr std::array key_list = {several("key", kKey)};
constexpr std::array key_and_count = {key, word("n", kInteger)};
constexpr Argument expiry_condition = any_number("NX|XX|GT|LT");
constexpr std::array expire = {key, word("seconds", kInteger), expiry_condition};
constexpr std::array pexpire = {key, word("milliseconds", kInteger), expiry_condition};
constexpr std::array expireat = {key, word("unix-seconds", kInteger), expiry_condition};
constexpr std::array pexpireat = {key, word("unix-milliseconds", kInteger), expiry_condition};
constexpr std::array setex = {key, word("seconds", kInteger), word("value", kInteger)};
constexpr std::array psetex = {key, word("milliseconds", kInteger), word("value", kInteger)};
constexpr std::array setnx = {key, word("value", kInteger)};
constexpr std::array set = {key,
                            word("value", kInteger),
                            option("EX", "seconds", kInteger, 1),
                            option("PX", "milliseconds", kInteger, 1),
                            option("EXAT", "unix-seconds", kInteger, 1),
                            option("PXAT", "unix-milliseconds", kInteger, 1),
                            flag("keepttl", "KEEPTTL", 1),
                            flag("nx", "NX", 2),
                            flag("xx", "XX", 2),
                            flag("get", "GET")};
constexpr std::array increx = {key,
                               option("BYINT", "n", kInteger),
                               option("LBOUND", "l", kInteger),
                               option("UBOUND", "u", kInteger),
                               flag("saturate", "SATURATE"),
                               option("EX", "seconds", kInteger, 1),
                               option("PX", "milliseconds", kInteger, 1),
                               option("EXAT", "unix-seconds", kInteger, 1),
                               option("PXAT", "unix-milliseconds", kInteger, 1),
                               flag("persist", "PERSIST", 1),
                               flag("enx", "ENX")};
constexpr std::array pattern = {word("pattern")};
constexpr std::array scan = {word("cursor"), option("MATCH", "pattern"), option("COUNT", "n", kInteger),
                             option("TYPE", "type")};

constexpr std::array quota_set = {key, word("limit", kInteger), word("window_secs", kInteger)};
constexpr std::array quota_incr = {key, word("limit", kInteger), word("window_secs", kInteger),
                                   optional("n", kInteger)};
constexpr std::array throttle = {key, word("max_burst", kInteger), word("count", kInteger), word("period", kInteger),
                                 optional("quantity", kInteger)};
constexpr std::array gcra = {key, word("max_burst", kInteger), word("tokens_per_period", kInteger),
                             word("period", kDecimal), option("TOKENS", "n", kInteger)};

constexpr std::array message = {optional("message")};
constexpr std::array message1 = {word("message")};
constexpr std::array hello = {any_number("protover [AUTH username password] [SETNAME name]")};
constexpr std::array auth = {several("[username] password")};
constexpr std::array index = {word("index", kInteger)};
constexpr std::array words = {any_number("word")};
constexpr std::array set_info = {word("LIB-NAME|LIB-VER"), word("value")};
constexpr std::array kill = {
    several("addr:port | [ID id] [TYPE normal] [USER default|use] [ADDR a] [LADDR a] [SKIPME yes|no]")};
constexpr std::array client_list = {any_number("TYPE normal | ID id")};
constexpr std::array command_list = {
    any_number("FILTERBY MODULE name | FILTERBY ACLCAT group | FILTERBY PATTERN pattern")};
constexpr std::array names = {any_number("name")};
constexpr std::array names1 = {several("pattern")};
constexpr std::array pairs = {several("name value")};
constexpr std::array node = {Argument{.name = "node"}};
constexpr std::array sections = {any_number("section")};
constexpr std::array flush = {flag("async", "ASYNC", 1), flag("sync", "SYNC", 1)};
constexpr std::array shutdown = {flag("nosave", "NOSAVE", 1), flag("save", "SAVE", 1), flag("now", "NOW"),
                                 flag("force", "FORCE")};
constexpr std::array bg_save = {flag("schedule", "SCHEDULE")};
constexpr std::array count1 = {optional("count")};
constexpr std::array top = {option("COUNT", "n", kInteger)};
constexpr std::span<const Argument> none;

// NOLINTEND(readability-identifier-naming)

}  // namespace args

// --- Commands -------------------------------------------------------------------------------------------------------

constexpr std::array kCommands = {
    Command{"TAKE", Group::kDecisions, Access::kUse, kWrite | kFast | kTogether, args::take, commands::take,
            "Takes the cost from each limit, all or nothing",
            "[allowed, remaining, limit, retry_after_ms, reset_after_ms, [violated limits]]"},
    Command{"PEEK", Group::kDecisions, Access::kLook, kReadOnly | kFast, args::peek, commands::peek,
            "Tells what TAKE would answer; nothing changes", "as TAKE"},
    Command{"GIVE", Group::kDecisions, Access::kUse, kWrite | kFast, args::give, commands::give,
            "Gives back what was taken, at most what is used", "[returned, remaining, limit]"},
    Command{"USAGE", Group::kDecisions, Access::kLook, kReadOnly | kFast, args::meter, commands::usage,
            "Tells how a meter stands", "[used, held, remaining, limit, reset_after_ms]"},
    Command{"RECONCILE", Group::kDecisions, Access::kAdmin, kWrite | kFast, args::reconcile, commands::reconcile,
            "Sets the usage from a source of truth; what is held stays held", "[used before, used now]"},

    Command{"HOLD", Group::kHolds, Access::kUse, kWrite | kFast, args::hold, commands::hold,
            "Sets charges aside until they are committed, cancelled, or the time is over",
            "[held, id, remaining, limit, retry_after_ms, reset_after_ms, [violated limits]]"},
    Command{"COMMIT", Group::kHolds, Access::kUse, kWrite | kFast, args::commit, commands::commit,
            "Charges what is held, or n of each charge, and returns the rest", "[committed, remaining, limit]"},
    Command{"CANCEL", Group::kHolds, Access::kUse, kWrite | kFast, args::id, commands::cancel,
            "Returns all that is held", "[returned, remaining, limit]"},
    Command{"EXTEND", Group::kHolds, Access::kUse, kWrite | kFast, args::extend, commands::extend,
            "Lets the hold last for the duration from now", "expires_in_ms"},
    Command{"HOLD.GET", Group::kHolds, Access::kLook, kReadOnly | kFast, args::id, commands::hold_get,
            "Tells what is held, and until when", "a map of state, expires_in_ms, tag and charges; nil if unknown"},
    Command{"HOLDS", Group::kHolds, Access::kLook, kReadOnly | kSlow, args::holds, commands::holds,
            "Lists the open holds of a meter, the first to expire first", "an array of ids"},
    Command{"HOLDS TAG", Group::kHolds, Access::kLook, kReadOnly | kSlow, args::text1, commands::holds_tag,
            "Lists the open holds with a tag", "an array of ids"},

    Command{"LIMIT SET", Group::kLimits, Access::kAdmin, kWrite | kSlow, args::limit_set, commands::limit_set,
            "Defines a limit, or changes it: what is in use stays in use", "OK"},
    Command{"LIMIT GET", Group::kLimits, Access::kLook, kReadOnly, args::name, commands::limit_get,
            "Tells how a limit is defined", "a map of fields and values; nil if unknown"},
    Command{"LIMIT LIST", Group::kLimits, Access::kLook, kReadOnly, args::none, commands::limit_list,
            "Lists the limits", "an array of names"},
    Command{"LIMIT DEL", Group::kLimits, Access::kAdmin, kWrite | kSlow, args::name, commands::limit_del,
            "Removes a limit and its meters", "1, or 0 if there is none"},
    Command{"LIMIT OVERRIDE", Group::kLimits, Access::kAdmin, kWrite | kSlow, args::override, commands::limit_override,
            "Gives one key another amount, or the limit's own again", "OK"},
    Command{
        "LIMIT SYNC", Group::kLimits, Access::kAdmin, kWrite, args::limit_sync, commands::limit_sync,
        "Starts to bring a limit's usage to what its [[sync]] says, or with DRYRUN to tell what would change; FORCE "
        "goes beyond its max_change",
        "the number of the run: LIMIT SYNCS tells how it goes"},
    Command{"LIMIT SYNCS", Group::kLimits, Access::kAdmin, kReadOnly, args::none, commands::limit_syncs,
            "Tells how the last syncs went", "an array of maps of fields and values, the last run first"},
    Command{"LIMIT HELP", Group::kLimits, Access::kLook, kReadOnly, args::none, commands::limit_help,
            "Tells what LIMIT can do", "an array of lines"},

    Command{"GET", Group::kKeys, Access::kLook, kReadOnly | kFast, args::key1, commands::get,
            "Tells a counter's value, or what remains of a quota", "the value, or nil"},
    Command{"SET", Group::kKeys, Access::kUse, kWrite | kFast, args::set, commands::set,
            "Sets a counter; quotas are the admin's to replace",
            "OK, or nil if a condition did not hold; with GET the old value"},
    Command{"SETEX", Group::kKeys, Access::kUse, kWrite | kFast, args::setex, commands::setex,
            "Sets a counter that expires; SET with EX does the same", "OK"},
    Command{"PSETEX", Group::kKeys, Access::kUse, kWrite | kFast, args::psetex, commands::psetex,
            "Sets a counter that expires; SET with PX does the same", "OK"},
    Command{"SETNX", Group::kKeys, Access::kUse, kWrite | kFast, args::setnx, commands::setnx,
            "Sets a counter if there is no such key; SET with NX does the same", "1, or 0 if there is one"},
    Command{"INCR", Group::kKeys, Access::kUse, kWrite | kFast | kTogether, args::key1, commands::incr,
            "Adds 1 to a counter, or consumes 1 of a quota", "the value; of a quota what remains, or -1",
            &commands::kIncrStep},
    Command{"INCRBY", Group::kKeys, Access::kUse, kWrite | kFast | kTogether, args::key_and_count, commands::incrby,
            "Adds n to a counter, or consumes n of a quota", "the value; of a quota what remains, or -1",
            &commands::kIncrByStep},
    Command{"DECR", Group::kKeys, Access::kUse, kWrite | kFast | kTogether, args::key1, commands::decr,
            "Subtracts 1 from a counter", "the value", &commands::kDecrStep},
    Command{"DECRBY", Group::kKeys, Access::kUse, kWrite | kFast | kTogether, args::key_and_count, commands::decrby,
            "Subtracts n from a counter", "the value", &commands::kDecrByStep},
    Command{"GETDEL", Group::kKeys, Access::kUse, kWrite | kFast, args::key1, commands::getdel,
            "Removes a counter and tells its value", "the value, or nil"},
    Command{"MGET", Group::kKeys, Access::kLook, kReadOnly | kFast, args::key_list, commands::mget,
            "Tells the values of several keys", "an array of values and nils"},
    Command{"INCREX", Group::kKeys, Access::kUse, kWrite | kFast | kTogether, args::increx, commands::increx,
            "Adds to a counter within bounds, and sets when it expires", "[new value, applied]",
            &commands::kIncrexStep},
    Command{"EXISTS", Group::kKeys, Access::kLook, kReadOnly | kFast, args::key_list, commands::exists,
            "Counts those of the keys that exist", "a count"},
    Command{"DEL", Group::kKeys, Access::kUse, kWrite | kFast, args::key_list, commands::del,
            "Removes keys; quotas are the admin's to remove", "how many there were"},
    Command{"UNLINK", Group::kKeys, Access::kUse, kWrite | kFast, args::key_list, commands::del, "As DEL",
            "how many there were"},
    Command{"TYPE", Group::kKeys, Access::kLook, kReadOnly | kFast, args::key1, commands::type, "Tells what a key is",
            "string, quota, throttle or none"},
    Command{"TTL", Group::kKeys, Access::kLook, kReadOnly | kFast, args::key1, commands::ttl,
            "Tells in how many seconds a key expires", "seconds; -1: it stays; -2: there is no such key"},
    Command{"PTTL", Group::kKeys, Access::kLook, kReadOnly | kFast, args::key1, commands::pttl,
            "Tells in how many milliseconds a key expires", "milliseconds; -1: it stays; -2: there is no such key"},
    Command{"EXPIRE", Group::kKeys, Access::kUse, kWrite | kFast, args::expire, commands::expire,
            "Lets a counter expire; NX: if it does not yet, XX: if it does, GT and LT: if that is later or sooner",
            "1, or 0 if there is no such key or the condition is not met"},
    Command{"PEXPIRE", Group::kKeys, Access::kUse, kWrite | kFast, args::pexpire, commands::pexpire,
            "Lets a counter expire; NX: if it does not yet, XX: if it does, GT and LT: if that is later or sooner",
            "1, or 0 if there is no such key or the condition is not met"},
    Command{"EXPIREAT", Group::kKeys, Access::kUse, kWrite | kFast, args::expireat, commands::expireat,
            "Lets a counter expire at a time; NX: if it does not yet, XX: if it does, GT and LT: if that is later or "
            "sooner",
            "1, or 0 if there is no such key or the condition is not met"},
    Command{"PEXPIREAT", Group::kKeys, Access::kUse, kWrite | kFast, args::pexpireat, commands::pexpireat,
            "Lets a counter expire at a time; NX: if it does not yet, XX: if it does, GT and LT: if that is later or "
            "sooner",
            "1, or 0 if there is no such key or the condition is not met"},
    Command{"EXPIRETIME", Group::kKeys, Access::kLook, kReadOnly | kFast, args::key1, commands::expiretime,
            "Tells when a key expires", "Unix seconds; -1: it stays; -2: there is no such key"},
    Command{"PEXPIRETIME", Group::kKeys, Access::kLook, kReadOnly | kFast, args::key1, commands::pexpiretime,
            "Tells when a key expires", "Unix milliseconds; -1: it stays; -2: there is no such key"},
    Command{"PERSIST", Group::kKeys, Access::kUse, kWrite | kFast, args::key1, commands::persist, "Lets a counter stay",
            "1, or 0 if nothing changed"},
    Command{"KEYS", Group::kKeys, Access::kLook, kReadOnly | kSlow, args::pattern, commands::keys,
            "Lists the keys that match a pattern", "an array of keys"},
    Command{"SCAN", Group::kKeys, Access::kLook, kReadOnly, args::scan, commands::scan, "Lists keys, a few at a time",
            "[next cursor, keys]; cursor 0 is the end"},
    Command{"DBSIZE", Group::kKeys, Access::kLook, kReadOnly | kFast, args::none, commands::dbsize, "Counts the keys",
            "a count"},

    Command{"QUOTASET", Group::kQuotas, Access::kAdmin, kWrite | kFast, args::quota_set, commands::quotaset,
            "Makes a key a quota: so much in each window; what is used stays used", "OK"},
    Command{"QUOTAGET", Group::kQuotas, Access::kLook, kReadOnly | kFast, args::key1, commands::quotaget,
            "Tells how a quota stands", "[limit, window_secs, remaining], or nil"},
    Command{"QUOTADEL", Group::kQuotas, Access::kAdmin, kWrite | kFast, args::key1, commands::quotadel,
            "Removes a quota", "OK"},
    Command{"QUOTAINCR", Group::kQuotas, Access::kUse, kWrite | kFast | kTogether, args::quota_incr,
            commands::quotaincr, "Makes the key a quota if there is none, then consumes n", "what remains, or -1",
            &commands::kQuotaIncrStep},

    Command{"CL.THROTTLE", Group::kThrottles, Access::kUse, kWrite | kFast | kTogether, args::throttle,
            commands::cl_throttle, "Takes from a bucket of max_burst + 1 that gets count back per period",
            "[limited, max_burst + 1, remaining, retry_after_s, reset_after_s]", &commands::kCellStep},
    Command{"THROTTLE", Group::kThrottles, Access::kUse, kWrite | kFast | kTogether, args::throttle, commands::throttle,
            "Takes from a bucket of max_burst that gets count back per period",
            "[allowed, max_burst, remaining, reset_after_s, retry_after_s]", &commands::kThrottleStep},
    Command{"GCRA", Group::kThrottles, Access::kUse, kWrite | kFast, args::gcra, commands::gcra,
            "As CL.THROTTLE, and the period may have a fraction",
            "[limited, max_burst + 1, remaining, retry_after_s, reset_after_s]"},

    Command{"PING", Group::kConnection, Access::kLook, kFast, args::message, commands::ping, "Answers",
            "PONG, or the message"},
    Command{"ECHO", Group::kConnection, Access::kLook, kFast, args::message1, commands::echo,
            "Answers with the message", "the message"},
    Command{"HELLO", Group::kConnection, Access::kAnyone, kFast | kSecret, args::hello, commands::hello,
            "Greets, chooses RESP2 or RESP3, and authenticates", "a map that describes the server"},
    Command{"AUTH", Group::kConnection, Access::kAnyone, kFast | kSecret, args::auth, commands::auth, "Authenticates",
            "OK"},
    Command{"QUIT", Group::kConnection, Access::kAnyone, kFast | kInMulti, args::words, commands::quit,
            "Closes the connection", "OK"},
    Command{"RESET", Group::kConnection, Access::kAnyone, kFast | kInMulti, args::none, commands::reset,
            "Makes the connection as new", "RESET"},
    Command{"SELECT", Group::kConnection, Access::kLook, kFast, args::index, commands::select,
            "Chooses database 0, the only one", "OK"},
    Command{"MULTI", Group::kConnection, Access::kLook, kFast, args::none, commands::multi,
            "Not supported: there are no transactions, and nothing is carried out until EXEC, DISCARD or RESET",
            "an error"},
    Command{"EXEC", Group::kConnection, Access::kLook, kFast | kInMulti, args::none, commands::exec,
            "Ends what MULTI began, of which nothing was carried out", "an error"},
    Command{"DISCARD", Group::kConnection, Access::kLook, kFast | kInMulti, args::none, commands::discard,
            "Ends what MULTI began", "OK, or an error without MULTI"},
    Command{"WATCH", Group::kConnection, Access::kLook, kFast, args::key_list, commands::watch,
            "Not supported: there are no transactions", "an error"},
    Command{"UNWATCH", Group::kConnection, Access::kLook, kFast, args::none, commands::unwatch,
            "Not supported: there are no transactions", "an error"},
    Command{"CLIENT ID", Group::kConnection, Access::kLook, kFast, args::none, commands::client_id,
            "Tells the connection's number", "a number"},
    Command{"CLIENT GETNAME", Group::kConnection, Access::kLook, kFast, args::none, commands::client_getname,
            "Tells the connection's name", "the name, or nil"},
    Command{"CLIENT SETNAME", Group::kConnection, Access::kLook, kFast, args::name, commands::client_setname,
            "Names the connection", "OK"},
    Command{"CLIENT SETINFO", Group::kConnection, Access::kLook, kFast, args::set_info, commands::client_setinfo,
            "Notes the client library", "OK"},
    Command{"CLIENT LIST", Group::kConnection, Access::kAdmin, kReadOnly, args::client_list, commands::client_list,
            "Describes every connection, or some of them", "a line each"},
    Command{"CLIENT INFO", Group::kConnection, Access::kLook, kReadOnly, args::none, commands::client_info,
            "Describes this connection", "a line"},
    Command{"CLIENT KILL", Group::kConnection, Access::kAdmin, kWrite, args::kill, commands::client_kill,
            "Closes connections", "OK, or with filters how many"},
    Command{"CLIENT HELP", Group::kConnection, Access::kLook, kReadOnly, args::none, commands::client_help,
            "Tells what CLIENT can do", "an array of lines"},

    Command{"COMMAND", Group::kServer, Access::kLook, kReadOnly, args::none, commands::command_list,
            "Describes every command", "an array of descriptions"},
    Command{"COMMAND COUNT", Group::kServer, Access::kLook, kReadOnly | kFast, args::none, commands::command_count,
            "Counts the commands", "a count"},
    Command{"COMMAND DOCS", Group::kServer, Access::kLook, kReadOnly, args::names, commands::command_docs,
            "Documents commands", "a map by name"},
    Command{"COMMAND INFO", Group::kServer, Access::kLook, kReadOnly, args::names, commands::command_info,
            "Describes commands", "an array of descriptions and nils"},
    Command{"COMMAND LIST", Group::kServer, Access::kLook, kReadOnly, args::command_list, commands::command_names,
            "Lists the commands, or those of a group or pattern, with their subcommands then", "an array of names"},
    Command{"COMMAND HELP", Group::kServer, Access::kLook, kReadOnly, args::none, commands::command_help,
            "Tells what COMMAND can do", "an array of lines"},
    Command{"CONFIG GET", Group::kServer, Access::kAdmin, kReadOnly, args::names1, commands::config_get,
            "Tells settings", "a map of names and values"},
    Command{"CONFIG SET", Group::kServer, Access::kAdmin, kWrite | kSecret, args::pairs, commands::config_set,
            "Changes settings while the server runs", "OK"},
    Command{"CONFIG RESETSTAT", Group::kServer, Access::kAdmin, kWrite, args::none, commands::config_resetstat,
            "Lets INFO count connections, commands, errors and bytes from 0 again; metrics and decisions go on", "OK"},
    Command{"CONFIG HELP", Group::kServer, Access::kAdmin, kReadOnly, args::none, commands::config_help,
            "Tells what CONFIG can do", "an array of lines"},
    Command{"INFO", Group::kServer, Access::kLook, kReadOnly, args::sections, commands::info,
            "Tells how the server is doing", "lines of name:value, in sections"},
    Command{"CLUSTER INFO", Group::kServer, Access::kLook, kReadOnly, args::none, commands::cluster_info,
            "Tells how this node and its shares are doing", "lines of name:value"},
    Command{"CLUSTER NODES", Group::kServer, Access::kLook, kReadOnly, args::none, commands::cluster_nodes,
            "Lists the nodes of the cluster that are alive", "an array of maps of fields and values, by name"},
    Command{"CLUSTER RETIRE", Group::kServer, Access::kAdmin, kWrite | kSlow, args::node, commands::cluster_retire,
            "Settles what a node had that never comes back, some of it at a time: all of it counts as spent",
            "how many draws that were, of how many units, and how many are left: ask again while some are"},
    Command{"CLUSTER HELP", Group::kServer, Access::kLook, kReadOnly, args::none, commands::cluster_help,
            "Tells what CLUSTER can do", "an array of lines"},
    Command{"TOP", Group::kServer, Access::kLook, kReadOnly | kSlow, args::top, commands::top,
            "Tells the busiest keys and the oldest holds", "a map of keys and holds"},
    Command{"FLUSHALL", Group::kServer, Access::kAdmin, kWrite | kSlow, args::flush, commands::flushall,
            "Forgets every meter, hold, id and key; limits and overrides stay", "OK"},
    Command{"FLUSHDB", Group::kServer, Access::kAdmin, kWrite | kSlow, args::flush, commands::flushall,
            "As FLUSHALL: there is one database", "OK"},
    Command{"TIME", Group::kServer, Access::kLook, kReadOnly | kFast, args::none, commands::time,
            "Tells the store's time", "[Unix seconds, microseconds]"},
    Command{"SAVE", Group::kServer, Access::kAdmin, kWrite | kSlow, args::none, commands::save, "Writes a snapshot",
            "OK, when it is on disk"},
    Command{"BGSAVE", Group::kServer, Access::kAdmin, kWrite, args::bg_save, commands::bgsave,
            "Writes a snapshot, in the background", "a line"},
    Command{"LASTSAVE", Group::kServer, Access::kLook, kReadOnly | kFast, args::none, commands::lastsave,
            "Tells when the last snapshot was written; before the first one, when the server was started",
            "Unix seconds"},
    Command{
        "SHUTDOWN", Group::kServer, Access::kAdmin, kWrite, args::shutdown, commands::shutdown,
        "Stops the server: what it has received is answered; with SAVE a snapshot is written first, and if that fails "
        "the server goes on",
        "nothing"},
    Command{"MONITOR", Group::kServer, Access::kAdmin, kReadOnly, args::none, commands::monitor,
            "Shows every command as it arrives", "OK, then a line per command"},
    Command{"SLOWLOG GET", Group::kServer, Access::kAdmin, kReadOnly, args::count1, commands::slowlog_get,
            "Shows the last commands that took long", "an array of entries"},
    Command{"SLOWLOG LEN", Group::kServer, Access::kAdmin, kReadOnly | kFast, args::none, commands::slowlog_len,
            "Counts them", "a count"},
    Command{"SLOWLOG RESET", Group::kServer, Access::kAdmin, kWrite, args::none, commands::slowlog_reset,
            "Forgets them", "OK"},
    Command{"SLOWLOG HELP", Group::kServer, Access::kAdmin, kReadOnly, args::none, commands::slowlog_help,
            "Tells what SLOWLOG can do", "an array of lines"},
};

}  // namespace

std::span<const Command> all_commands() {
  static const std::vector<Command> kAll = [] {
    std::vector<Command> commands(kCommands.begin(), kCommands.end());
    commands.insert(commands.end(), store_commands().begin(), store_commands().end());
    return commands;
  }();
  return kAll;
}

}  // namespace mete::server
