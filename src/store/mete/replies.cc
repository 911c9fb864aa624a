#include "store/mete/replies.h"

#include <algorithm>

namespace mete::store::servers {

Result<std::vector<std::string>> read_strings(const net::Address& server, std::string_view name,
                                              const Result<wire::RespValue>& reply) {
  if (!reply) return tl::make_unexpected(reply.error());
  if (reply->type != wire::RespType::kArray) return tl::make_unexpected(unexpected_reply(name, server));
  ReplySource source(reply->elements);
  std::vector<std::string> strings;
  while (source.left() > 0) {
    const auto next = source.text();
    if (!next) return tl::make_unexpected(unexpected_reply(name, server));
    strings.emplace_back(*next);
  }
  return strings;
}

Result<Settlement> read_settlement(const net::Address& server, std::string_view name,
                                   const Result<wire::RespValue>& reply) {
  return read_integers<3>(server, name, reply).map([](const auto& parts) {
    return Settlement{.amount = parts[0], .remaining = parts[1], .limit = parts[2]};
  });
}

void tell_usages(const VerdictMessage& answer, std::span<Usage> usages) {
  for (std::size_t i = 0; i < std::min(usages.size(), answer.usages.size()); ++i) {
    if (answer.usages[i].limit != 0) usages[i] = answer.usages[i];
  }
}

}  // namespace mete::store::servers
