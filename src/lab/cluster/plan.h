// ClusterPlan: what `mete cluster` starts: which processes, with which words, and what it tells about them.
//
// Everything is on this machine, in one directory, with a log for each process:
//
//     DIRECTORY/shared  shared.log   what the nodes share: etcd, or one Mete server; not there if a URL was given
//     DIRECTORY/node-1  node-1.log   a node: RESP on the first port
//     DIRECTORY/node-2  node-2.log   …
//
// Thread safety: values and pure functions; nothing here starts, opens or asks anything.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mete::lab {

inline constexpr std::size_t kClusterNodesMax = 16;
inline constexpr std::string_view kClusterLimit = "demo";

enum class SharedKind : std::uint8_t { kEtcd, kMete, kUrl };

struct ClusterOptions {
  std::size_t nodes = 3;
  std::uint16_t port = 6380;  // of the first node; the others have the following ones
  SharedKind shared = SharedKind::kMete;
  std::string shared_url = {};  // kUrl
};

// As somebody typed them.
struct ClusterWords {
  std::string nodes;
  std::string port;
  std::string shared;  // "etcd", "mete", a URL; empty: etcd if it is there
};

// `etcd` is where the program of that name is; empty: nowhere.
Result<ClusterOptions> check_cluster_words(const ClusterWords& words, std::string_view etcd);

// Where things are on this machine.
struct ClusterPlace {
  std::string program;  // this one
  std::string etcd;     // empty: nowhere
  std::string directory;
  std::vector<std::uint16_t> free_ports;  // free_ports_needed() of them
};

// Of the shared store.
std::size_t free_ports_needed(const ClusterOptions& options);

struct PlannedProcess {
  std::string name;
  std::vector<std::string> words;  // the first is the path of the program
  std::string log;                 // the file for its output
};

struct PlannedNode {
  PlannedProcess process;
  std::uint16_t port = 0;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port); }
};

struct ClusterPlan {
  std::string shared_url;
  std::optional<PlannedProcess> shared;  // none: it runs already
  std::vector<PlannedNode> nodes;
};

ClusterPlan make_cluster_plan(const ClusterOptions& options, const ClusterPlace& place);

// The command that defines the limit of the demonstration.
std::vector<std::string> cluster_limit_words();
// What to type, once the cluster runs.
std::string cluster_introduction(const ClusterPlan& plan);

}  // namespace mete::lab
