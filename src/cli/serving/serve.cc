// `mete serve`: the server.
#include <unistd.h>

#include <ostream>

#include "base/log.h"
#include "base/try.h"
#include "cli/commands.h"
#include "cli/frame/progress_bar.h"
#include "cli/serving/config_options.h"
#include "server/observation/server_log.h"
#include "server/running/banner.h"
#include "server/running/server.h"

namespace mete::cli {

namespace {

// Shows how far the loading is.
Result<std::unique_ptr<server::Server>> start_server(const server::ConfigSources& sources, base::Log& log,
                                                     Console& console) {
  ProgressBar bar(console);
  server::LoadLog load_log(log);
  return server::Server::start(sources, log, [&](const store::LoadProgress& progress) {
    if (bar.is_shown()) {
      bar.show("loading", progress.bytes_done, progress.bytes_total);
    } else {
      load_log.note(progress);
    }
  });
}

Result<int> run_serve(const Invocation& invocation, Console& console) {
  base::Log log(STDERR_FILENO);
  const auto server = TRY(start_server(config_sources(invocation, console), log, console));
  const server::Banner banner = server->banner();
  if (::isatty(STDOUT_FILENO) == 1) {
    console.out << server::banner_text(banner) << std::flush;
  } else {
    server::log_banner(banner, log);
  }
  return server->run() ? kExitDone : kExitError;
}

}  // namespace

Command serve_command() {
  return {
      .name = "serve",
      .summary = "Run the server: RESP and HTTP, in front of a store",
      .description = {"Answers until SIGTERM or SIGINT: then it takes no new connections, answers what has arrived, "
                      "and ends. SIGHUP, or a change of the file, reloads the configuration: limits are added, "
                      "changed (what is in use stays in use) and removed; a file with a mistake changes nothing."},
      .options = config_options(),
      .examples = {{"mete serve", "RESP on 127.0.0.1:6380, HTTP on 127.0.0.1:8380, no limits yet"},
                   {"mete serve --config /etc/mete/mete.toml", "With the limits of a file"},
                   {"mete serve --resp 0.0.0.0:6380 --password-file /run/secrets/mete", "For other machines"}},
      .statuses = {{kExitError,
                    "the server could not start, or must be started again since its disk was full; the log says why"}},
      .run = run_serve};
}

}  // namespace mete::cli
