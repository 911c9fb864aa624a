#include "cli/client/client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/client/client_options.h"
#include "cli/client/explain.h"
#include "wire/resp_command.h"

namespace mete::cli {

namespace {

// So few that their replies fit into the buffers of a socket: the server never waits for this side to read.
constexpr std::size_t kCommandsOnTheWayMax = 256;

}  // namespace

Result<Client> Client::open(const Invocation& invocation, const Console& console, Duration patience) {
  auto options = connection_options(invocation, console);
  if (!options) return tl::unexpected(options.error());
  options->timeout = options->timeout + patience;
  auto connection = Connection::open(*options);
  if (!connection) return tl::unexpected(connection.error());
  return Client(std::move(*connection));
}

Result<wire::RespValue> Client::call(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  auto reply = connection_.call(views);
  if (reply && reply->is_error()) return tl::unexpected(explain(reply->text));
  return reply;
}

Result<std::vector<wire::RespValue>> Client::call_all(std::span<const std::vector<std::string>> commands) {
  std::vector<wire::RespValue> replies;
  replies.reserve(commands.size());
  std::optional<Error> refusal;
  while (!commands.empty()) {
    const auto some = commands.first(std::min(commands.size(), kCommandsOnTheWayMax));
    std::string bytes;
    for (const std::vector<std::string>& words : some) {
      wire::append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
    }
    if (auto sent = connection_.send(bytes); !sent) return tl::unexpected(sent.error());
    for (std::size_t i = 0; i < some.size(); ++i) {
      auto reply = connection_.receive();
      if (!reply) return tl::unexpected(reply.error());
      if (reply->is_error() && !refusal) refusal = explain(reply->text);
      replies.push_back(std::move(*reply));
    }
    if (refusal) return tl::unexpected(std::move(*refusal));
    commands = commands.subspan(some.size());
  }
  return replies;
}

Result<wire::RespValue> ask(const Invocation& invocation, const Console& console, const std::vector<std::string>& words,
                            Duration patience) {
  auto client = Client::open(invocation, console, patience);
  if (!client) return tl::unexpected(client.error());
  return client->call(words);
}

}  // namespace mete::cli
