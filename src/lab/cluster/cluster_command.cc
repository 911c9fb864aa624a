// `mete cluster`: several nodes that share a limit, on this machine, to try it out.
#include <filesystem>
#include <ostream>
#include <system_error>

#include "base/errors.h"
#include "base/try.h"
#include "cli/frame/text.h"
#include "lab/cluster/cluster.h"
#include "lab/cluster/machine.h"
#include "lab/commands.h"

namespace mete::lab {

namespace {

Result<ClusterPlan> plan_here(const ClusterOptions& options, const std::string& etcd, const Directory& directory) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return base::unavailable("cannot find out where this program is: " + error.message());
  // They are free again when this returns, and the processes start at once.
  Ports ports;
  TRY(ports.keep(options.port, options.nodes));
  auto free_ports = TRY(ports.find(free_ports_needed(options)));
  return make_cluster_plan(
      options,
      {.program = program.string(), .etcd = etcd, .directory = directory.path(), .free_ports = std::move(free_ports)});
}

Result<int> run_planned(const ClusterPlan& plan, const Directory& directory, cli::Console& console) {
  Signals signals;
  Cluster cluster(plan, console, signals);
  if (const auto started = cluster.start(); !started) {
    cluster.stop();
    return cli::fail(console, started.error().message);
  }
  console.out << cluster_introduction(plan) << "Data, logs:   " << cli::printable(directory.path())
              << (directory.is_temporary() ? ", removed at the end" : "") << "\n\nCtrl-C stops it all.\n"
              << std::flush;
  const bool is_as_asked = cluster.watch();
  cluster.stop();
  return is_as_asked ? cli::kExitDone : cli::fail(console, "no node is left");
}

Result<int> run_cluster(const cli::Invocation& invocation, cli::Console& console) {
  const std::string etcd = find_program("etcd", console);
  const auto options = check_cluster_words({.nodes = invocation.value("nodes", console),
                                            .port = invocation.value("port", console),
                                            .shared = invocation.value("shared", console)},
                                           etcd);
  if (!options) return cli::usage_error(invocation, options.error().message);
  const auto directory = TRY(Directory::make(invocation.value("data", console)));
  const auto plan = TRY(plan_here(*options, etcd, directory));
  return run_planned(plan, directory, console);
}

}  // namespace

cli::Command cluster_command() {
  return {
      .name = "cluster",
      .summary = "Try out several nodes that share a limit: a whole cluster on this machine",
      .description =
          {"Starts a store for the nodes to share and the nodes, as processes of their own, defines a limit of scope "
           "escrow, and tells what to type. Ctrl-C or SIGTERM stops them all: the nodes give back what they hold. "
           "A process that ends before is told of, with the last lines of its log, and the others go on: kill one, "
           "and see.",
           "It listens on 127.0.0.1 alone, without passwords: it is a demonstration. What it starts is 'mete serve "
           "--escrow-shared URL --escrow-node NAME', which is what a real cluster has on each "
           "machine."},
      .options =
          {{"nodes", cli::ArgumentType::kInteger, "N", "How many", "3"},
           {.word = "shared",
            .type = cli::ArgumentType::kText,
            .name = "WHAT",
            .help =
                "What they share: etcd or mete, which is started for them, or the URL of a store that runs; without "
                "it etcd, if that is installed, and else mete"},
           {"port", cli::ArgumentType::kInteger, "N",
            "Where the first node listens for RESP; the others have the following ports", "6380"},
           {"data", cli::ArgumentType::kFolder, "DIRECTORY",
            "Where data and logs stay; without it they are in a temporary directory, which is removed"}},
      .examples = {{"mete cluster", "Three nodes, on ports 6380 to 6382"},
                   {"mete cluster --nodes 5 --shared redis://127.0.0.1:6379", "Five, which share what Redis keeps"}},
      .run = run_cluster};
}

}  // namespace mete::lab
