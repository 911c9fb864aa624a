// `mete retire`.
#include "base/errors.h"
#include "base/try.h"
#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/frame/progress_bar.h"
#include "cli/frame/text.h"
#include "wire/json.h"

namespace mete::cli {

namespace {

Result<int> run_retire(const Invocation& invocation, Console& console) {
  auto server = TRY(connect(invocation, console));
  ProgressBar bar(console);
  std::int64_t draws = 0;
  std::int64_t units = 0;
  for (std::int64_t left = 1; left > 0;) {
    const auto retired = TRY(ask(server, {"CLUSTER", "RETIRE", invocation.arguments[0]}));
    if (retired.elements.size() != 3) return base::invalid("the server is of another version than this program");
    draws += retired.elements[0].integer;
    units += retired.elements[1].integer;
    left = retired.elements[2].integer;
    bar.show("settling", static_cast<std::uint64_t>(draws), static_cast<std::uint64_t>(draws + left),
             number_text(left) + " draws are left");
  }
  bar.clear();
  const std::string text = draws == 0 ? "there was nothing to settle\n"
                                      : number_text(units) + " units count as spent that the node had, of " +
                                            number_text(draws) + " draws\n";
  return answer(invocation, console, text,
                [&](wire::JsonWriter& writer) { writer.member("draws", draws).member("units", units); });
}

}  // namespace

Command retire_command() {
  return {.name = "retire",
          .summary = "Settle what a node of a cluster had that never comes back",
          .description =
              {"What a node has drawn of stocks and long windows is in its data directory, and goes back when it "
               "starts again. Where that is lost, nobody knows how much was spent: all of it counts as such, and "
               "'mete reconcile' can set right what is known better. Any other node of the cluster can be asked."},
          .arguments = {{.name = "NODE", .help = "The name of the node (escrow.node)"}},
          .options = client_options(),
          .examples = {{"mete retire node-3", "The machine of node-3 has burned down"}},
          .run = run_retire};
}

}  // namespace mete::cli
