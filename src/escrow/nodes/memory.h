// NodeMemory: what a node keeps in its data directory, in the file `node`: who it is, and which cluster it is in.
//
//     mete-node 1
//     identity 0123456789abcdef0123456789abcdef
//     cluster 6755399441055744                      0: none yet
//     name a
//     incarnation 7
//     starts 9                                      from this directory, under whatever name
//     beats 4711                                    signs of life under that name, at least
//
// The identity is made with the file and never changes: a directory with the same one is the same node, or a copy of
// it. Backups do not have this file, so what is restored from one is another node. Thread safety: values.
#pragma once

#include <string>

#include "escrow/nodes/registry.h"
#include "journal/file_system.h"

namespace mete::escrow {

inline constexpr std::string_view kNodeFile = "node";

struct NodeMemory {
  std::string identity;
  Remembered remembered = {};

  bool operator==(const NodeMemory&) const = default;
};

// Reads the file, or makes it, in a directory that exists.
Result<NodeMemory> load_memory(journal::FileSystem& files, const std::string& directory);
// On disk when it returns.
Result<void> save_memory(journal::FileSystem& files, const std::string& directory, const NodeMemory& memory);

}  // namespace mete::escrow
