// Client: the connection of one command to its server, and the options that say where that is. What goes wrong is an
// Error that says what to do next, an error reply of the server included.
//
//     auto client = Client::open(invocation, console);
//     auto reply = client->call({"TAKE", "api", "alice"});
//
// Thread safety: none.
#pragma once

#include <mete/result.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client/connection.h"
#include "cli/client/replies.h"
#include "cli/frame/command.h"

namespace mete::cli {

// --server and --password, which `mete bench` has too.
Option server_option();
Option password_option();

// A command's own options, and behind them those that all clients have: where the server is, how it is reached, --json.
std::vector<Option> client_options(std::vector<Option> own = {});

// As these options say. The error names the option that is wrong.
Result<ConnectionOptions> connection_options(const Invocation& invocation, const Console& console);

class Client {
 public:
  // `patience`: how much longer than usual a reply may take.
  static Result<Client> open(const Invocation& invocation, const Console& console, Duration patience = {});

  Result<wire::RespValue> call(const std::vector<std::string>& words);
  // The same for a command as wire::append_command() writes it, and without explain(): the error is the store's.
  Result<wire::RespValue> exchange(std::string_view command);
  // Many commands, sent without waiting for each other's replies: replies[i] answers command i. An error reply is the
  // Error, once the others have come too; the commands behind it may have been carried out.
  Result<std::vector<wire::RespValue>> call_all(std::span<const std::vector<std::string>> commands);

 private:
  explicit Client(Connection connection) : connection_(std::move(connection)) {}

  Connection connection_;
};

}  // namespace mete::cli
