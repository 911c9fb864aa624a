// The connection of a command to its server, and the options that say where that is. What goes wrong is an Error that
// says what to do next, an error reply of the server included.
//
//     auto server = TRY(connect(invocation, console));
//     auto info = TRY(ask(server, {"INFO"}));
#pragma once

#include <mete/result.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client/connection.h"
#include "cli/client/replies.h"
#include "cli/frame/command.h"

namespace mete::cli {

// --server and --password, which `mete bench` has too.
Argument server_option();
Argument password_option();

// A command's own options, and behind them those that all clients have: where the server is, how it is reached, --json.
std::vector<Argument> client_options(std::vector<Argument> own = {});

// As these options say. The error names the option that is wrong.
Result<ConnectionOptions> connection_options(const Invocation& invocation, const Console& console);

// `patience`: how much longer than usual a reply may take.
Result<Connection> connect(const Invocation& invocation, const Console& console, Duration patience = {});

Result<wire::RespValue> ask(Connection& server, std::initializer_list<std::string_view> words);
// Many commands, sent without waiting for each other's replies: replies[i] answers command i. An error reply is the
// Error, once the others have come too; the commands behind it may have been carried out.
Result<std::vector<wire::RespValue>> ask_all(Connection& server, std::span<const std::vector<std::string>> commands);

}  // namespace mete::cli
