// CLUSTER INFO, CLUSTER NODES.
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/replies.h"
#include "server/observation/cluster_description.h"

namespace mete::server::commands {

void cluster_info(CommandContext& context) { context.reply.verbatim(cluster_text(context.service.read_cluster())); }

void cluster_nodes(CommandContext& context) {
  const auto status = context.service.read_cluster();
  if (!status) {
    // Redis's words, by which clients know that they need not look for its slots, and what to do.
    context.reply.error(
        "ERR", "This instance has cluster support disabled: set escrow.shared and escrow.node to make it a node");
    return;
  }
  context.reply.array(status->nodes.size());
  for (const escrow::NodeStatus& node : status->nodes) {
    const auto fields = describe_node(node);
    context.reply.map(fields.size());
    write_fields(context.reply, fields);
  }
}

}  // namespace mete::server::commands
