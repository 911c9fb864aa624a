// MULTI and its like. There are no transactions here; but clients send the commands of one behind MULTI without waiting
// for its answer, and what was meant as one step must not be carried out in parts. So after MULTI everything is refused
// until the transaction's end.
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/resp_session.h"

namespace mete::server::commands {

void multi(CommandContext& context) {
  context.session->set_in_multi(true);
  context.reply.error("ERR",
                      "MULTI is not supported: use INCREX, QUOTAINCR or TAKE, which are one atomic step each, or a "
                      "pipeline without a transaction");
}

void exec(CommandContext& context) {
  if (context.session->is_in_multi()) {
    context.session->set_in_multi(false);
    context.reply.error("EXECABORT", "Transaction discarded because MULTI is not supported");
  } else {
    context.reply.error("ERR", "EXEC without MULTI");
  }
}

void discard(CommandContext& context) {
  if (context.session->is_in_multi()) {
    context.session->set_in_multi(false);
    context.reply.ok();
  } else {
    context.reply.error("ERR", "DISCARD without MULTI");
  }
}

void watch(CommandContext& context) {
  context.reply.error(
      "ERR",
      "WATCH is not supported, and neither is MULTI: use INCREX, QUOTAINCR or TAKE, which are one atomic "
      "step each");
}

void unwatch(CommandContext& context) { context.reply.error("ERR", "UNWATCH is not supported, and neither is WATCH"); }

}  // namespace mete::server::commands
