// Why a node may not start or go on, and what to do about it.
#pragma once

#include <optional>
#include <string>

#include "escrow/nodes/roll.h"

namespace mete::escrow {

// The store is not the one that the node remembers.
std::string wiped(ClusterNumber remembered, std::optional<ClusterNumber> found);
struct Starts {
  Incarnation known = 0;  // to the store
  Incarnation made = 0;
};
// It is the same, and yet has lost starts of this node: it went back to an earlier state.
std::string went_back(std::string_view name, Starts starts);
std::string name_taken(const Node& other);
std::string directory_copied(const Node& other);
// It is not running any more.
std::string copy_started();
std::string fenced(const Node& self, const Node& successor);

}  // namespace mete::escrow
