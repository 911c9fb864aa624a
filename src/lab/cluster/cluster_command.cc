#include "lab/cluster/cluster_command.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <system_error>

#include "cli/frame/text.h"
#include "lab/cluster/cluster.h"
#include "lab/cluster/ports.h"

namespace mete::cli {

namespace {

// The directory of a cluster: one that was given stays, another one goes at the end.
class Directory {
 public:
  static Result<Directory> make(const std::string& given) {
    std::error_code error;
    if (!given.empty()) {
      std::filesystem::create_directories(given, error);
      const auto path = std::filesystem::absolute(given, error);
      if (!error && std::filesystem::is_directory(path, error)) return Directory(path, false);
      return tl::unexpected(Error{ErrorCode::kInvalid, "cannot make the directory " + shown(given) + ": " +
                                                           (error ? error.message() : "it is a file")});
    }
    std::string path = (std::filesystem::temp_directory_path(error) / "mete-cluster-XXXXXX").string();
    if (!error && ::mkdtemp(path.data()) != nullptr) return Directory(path, true);
    return tl::unexpected(Error{ErrorCode::kUnavailable, "cannot make a temporary directory (" + shown(path) +
                                                             "): " + std::generic_category().message(errno) +
                                                             "; --data names another"});
  }
  Directory(Directory&& other) noexcept
      : path_(std::move(other.path_)), is_temporary_(std::exchange(other.is_temporary_, false)) {}
  Directory& operator=(Directory&&) = delete;
  ~Directory() {
    std::error_code ignored;  // nobody is left to care
    if (is_temporary_) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] bool is_temporary() const { return is_temporary_; }

 private:
  Directory(std::filesystem::path path, bool is_temporary) : path_(std::move(path)), is_temporary_(is_temporary) {}

  std::filesystem::path path_;
  bool is_temporary_;
};

// Where a program of that name is, as a shell would find it; empty: nowhere.
std::string find_program(const std::string& name, const Console& console) {
  const auto path = console.environment.find("PATH");
  if (path == console.environment.end()) return {};
  std::istringstream folders(path->second);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

Result<ClusterPlan> plan_here(const ClusterOptions& options, const std::string& etcd, const Directory& directory) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return tl::unexpected(Error{ErrorCode::kUnavailable, "cannot find out where this program is: " + error.message()});
  }
  // They are free again when this returns, and the processes start at once.
  Ports ports;
  if (auto ok = ports.keep(options.port, options.nodes); !ok) return tl::unexpected(ok.error());
  auto free_ports = ports.find(free_ports_needed(options));
  if (!free_ports) return tl::unexpected(free_ports.error());
  return make_cluster_plan(
      options,
      {.program = program.string(), .etcd = etcd, .directory = directory.path(), .free_ports = std::move(*free_ports)});
}

int run_planned(const ClusterPlan& plan, const Directory& directory, Console& console) {
  Signals signals;
  Cluster cluster(plan, console, signals);
  if (const auto started = cluster.start(); !started) {
    cluster.stop();
    return fail(console, started.error().message);
  }
  console.out << cluster_introduction(plan) << "Data, logs:   " << printable(directory.path())
              << (directory.is_temporary() ? ", removed at the end" : "") << "\n\nCtrl-C stops it all.\n"
              << std::flush;
  const bool is_as_asked = cluster.watch();
  cluster.stop();
  return is_as_asked ? kExitDone : fail(console, "no node is left");
}

int run_cluster(const Invocation& invocation, Console& console) {
  const std::string etcd = find_program("etcd", console);
  const auto options = check_cluster_words({.nodes = invocation.value("nodes", console),
                                            .port = invocation.value("port", console),
                                            .shared = invocation.value("shared", console)},
                                           etcd);
  if (!options) return fail_usage(invocation, console, options.error().message);
  const auto directory = Directory::make(invocation.value("data", console));
  if (!directory) return fail(console, directory.error().message);
  const auto plan = plan_here(*options, etcd, *directory);
  if (!plan) return fail(console, plan.error().message);
  return run_planned(*plan, *directory, console);
}

}  // namespace

Command cluster_command() {
  return {
      .name = "cluster",
      .summary = "Try out several nodes that share a limit: a whole cluster on this machine",
      .description =
          {"Starts a store for the nodes to share and the nodes, as processes of their own, defines a limit of scope "
           "escrow, and tells what to type. Ctrl-C or SIGTERM stops them all: the nodes give back what they hold. "
           "A process that ends before is told of, with the last lines of its log, and the others go on: kill one, "
           "and see.",
           "It listens on 127.0.0.1 alone, without passwords: it is a demonstration. What it starts is 'mete serve "
           "--escrow-shared URL --escrow-node NAME --escrow-listen ADDRESS', which is what a real cluster has on each "
           "machine."},
      .options =
          {{.name = "nodes", .kind = ValueKind::kNumber, .value_name = "N", .help = "How many", .default_text = "3"},
           {.name = "shared",
            .kind = ValueKind::kText,
            .value_name = "WHAT",
            .help =
                "What they share: etcd or mete, which is started for them, or the URL of a store that runs; without "
                "it etcd, if that is installed, and else mete"},
           {.name = "port",
            .kind = ValueKind::kNumber,
            .value_name = "N",
            .help = "Where the first node listens for RESP; the others have the following ports",
            .default_text = "6380"},
           {.name = "data",
            .kind = ValueKind::kFolder,
            .value_name = "DIRECTORY",
            .help = "Where data and logs stay; without it they are in a temporary directory, which is removed"}},
      .examples = {{"mete cluster", "Three nodes, on ports 6380 to 6382"},
                   {"mete cluster --nodes 5 --shared redis://127.0.0.1:6379", "Five, which share what Redis keeps"}},
      .run = run_cluster};
}

}  // namespace mete::cli
