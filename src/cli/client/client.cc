#include "cli/client/client.h"

#include "cli/client/client_options.h"
#include "cli/client/explain.h"

namespace mete::cli {

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

Result<wire::RespValue> ask(const Invocation& invocation, const Console& console, const std::vector<std::string>& words,
                            Duration patience) {
  auto client = Client::open(invocation, console, patience);
  if (!client) return tl::unexpected(client.error());
  return client->call(words);
}

}  // namespace mete::cli
