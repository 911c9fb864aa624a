#include "cli/client/limit_definition.h"

#include "cli/client/reply_reader.h"

namespace mete::cli {

Result<std::optional<LimitDefinition>> find_limit(Client& client, const std::string& name) {
  const auto reply = client.call({"LIMIT", "GET", name});
  if (!reply) return tl::unexpected(reply.error());
  if (is_nil(*reply)) return std::nullopt;
  LimitDefinition definition;
  ReplyReader reader(*reply);
  while (reader.has_more()) {
    std::string member = reader.text();
    definition.push_back({std::move(member), reader.any()});
  }
  return reader.finish().map([&](Done) { return std::optional(definition); });
}

}  // namespace mete::cli
