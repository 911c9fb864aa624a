// The commands that Mete servers send each other: STORE …. store/mete/messages.h has their fields.
#include <array>

#include "server/doors/resp/command_table.h"
#include "server/doors/resp/commands/commands.h"

namespace mete::server {

namespace {

// `field` stands for all fields of the message, in their order.
constexpr std::array kFields = {Argument{.name = "field", .is_multiple = true}};

constexpr std::array kStoreCommands = {
    Command{"STORE TAKE", Group::kStore, Access::kUse, kWrite | kFast, kFields, commands::store_take,
            "As TAKE, PEEK and their modes", "the verdict; how each meter stands, if asked for"},
    Command{"STORE RECALL", Group::kStore, Access::kUse, kReadOnly | kFast, kFields, commands::store_recall,
            "Tells what a take with this id was answered; nothing changes", "the verdict, if there was one"},
    Command{"STORE USAGE", Group::kStore, Access::kUse, kReadOnly | kFast, kFields, commands::store_usage, "As USAGE",
            "how the meter stands"},
    Command{"STORE SHIFT", Group::kStore, Access::kAdmin, kWrite | kFast, kFields, commands::store_shift,
            "Adds to what a key has used, or takes off it, unless a new window has begun",
            "what was changed, and whether it was too late"},
    Command{"STORE SCAN", Group::kStore, Access::kUse, kReadOnly, kFields, commands::store_scan,
            "Lists the keys of a limit, a few at a time", "the next cursor; keys, and how they stand"},
    Command{"STORE HOLD", Group::kStore, Access::kUse, kWrite | kFast, kFields, commands::store_hold, "As HOLD",
            "the verdict; how each meter stands, if asked for"},
    Command{"STORE EXTEND", Group::kStore, Access::kUse, kWrite | kFast, kFields, commands::store_extend, "As EXTEND",
            "in how long it expires"},
    Command{"STORE FIND", Group::kStore, Access::kUse, kReadOnly | kFast, kFields, commands::store_find, "As HOLD.GET",
            "the hold, if there is one"},
    Command{"STORE HOLDS", Group::kStore, Access::kUse, kReadOnly, kFields, commands::store_holds, "As HOLDS", "ids"},
    Command{"STORE OLDEST", Group::kStore, Access::kUse, kReadOnly | kSlow, kFields, commands::store_oldest,
            "Tells the open holds that were made first", "holds"},
    Command{"STORE DEFINE", Group::kStore, Access::kAdmin, kWrite, kFields, commands::store_define, "As LIMIT SET",
            "nothing more"},
    Command{"STORE LIMIT", Group::kStore, Access::kUse, kReadOnly | kFast, kFields, commands::store_limit,
            "As LIMIT GET", "the limit, if there is one"},
    Command{"STORE OVERRIDE", Group::kStore, Access::kUse, kReadOnly | kFast, kFields, commands::store_override,
            "Tells the key's own amount", "the amount, if it has one"},
    Command{"STORE STATS",
            Group::kStore,
            Access::kUse,
            kReadOnly,
            {},
            commands::store_stats,
            "Tells how much the store keeps",
            "counts"},
    Command{"STORE SET", Group::kStore, Access::kUse, kWrite | kFast, kFields, commands::store_set, "As SET",
            "whether it was set; the value before; whether a quota stands in the way"},
    Command{"STORE INCREX", Group::kStore, Access::kUse, kWrite | kFast, kFields, commands::store_increx, "As INCREX",
            "the new value, and what was added"},
    Command{"STORE QUOTADEL", Group::kStore, Access::kAdmin, kWrite | kFast, kFields, commands::store_quotadel,
            "As QUOTADEL", "whether there was one"},
    Command{"STORE THROTTLE", Group::kStore, Access::kUse, kWrite | kFast, kFields, commands::store_throttle,
            "Takes from a bucket of its own", "the verdict"},
    Command{"STORE REMOVE", Group::kStore, Access::kUse, kWrite | kFast, kFields, commands::store_remove,
            "As DEL of one key", "whether there was one"},
    Command{"STORE EXPIRES", Group::kStore, Access::kUse, kReadOnly | kFast, kFields, commands::store_expires,
            "As PEXPIRETIME", "the time, if there is such a key"},
    Command{"STORE EXPIRE", Group::kStore, Access::kUse, kWrite | kFast, kFields, commands::store_expire, "As EXPIRE",
            "whether that changed anything"},
    Command{"STORE KEYS", Group::kStore, Access::kUse, kReadOnly, kFields, commands::store_keys,
            "Lists keys, a few at a time", "the next cursor; keys, and their types"},
};

}  // namespace

std::span<const Command> store_commands() { return kStoreCommands; }

}  // namespace mete::server
