// The options of all commands that ask a server.
#pragma once

#include <mete/result.h>

#include <vector>

#include "cli/client/connection.h"
#include "cli/frame/command.h"

namespace mete::cli {

// --server and --password, which `mete bench` has too.
Option server_option();
Option password_option();

// A command's own options, and behind them those that all clients have: where the server is, how it is reached, --json.
std::vector<Option> client_options(std::vector<Option> own = {});

// As these options say. The error names the option that is wrong.
Result<ConnectionOptions> connection_options(const Invocation& invocation, const Console& console);

}  // namespace mete::cli
