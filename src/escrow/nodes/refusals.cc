#include "escrow/nodes/refusals.h"

namespace mete::escrow {

namespace {

constexpr std::string_view kNothingIsDrawn =
    ". Nothing is drawn from it, for what it granted before would be granted again. Bring back what it had; or, once "
    "all windows that were open then have ended, remove the file 'node' from the data directory of each node and start "
    "them again";

}  // namespace

std::string wiped(ClusterNumber remembered, std::optional<ClusterNumber> found) {
  return "the shared store is not that of cluster " + std::to_string(remembered) + ", which this node belongs to: " +
         (found ? "it is that of cluster " + std::to_string(*found) : "it knows of no cluster") +
         ". It was wiped, or escrow.shared leads to another one" + std::string(kNothingIsDrawn);
}

std::string went_back(std::string_view name, Starts starts) {
  return "the shared store has gone back to an earlier state: it knows of " + std::to_string(starts.known) +
         " starts of node '" + std::string(name) + "', and there were " + std::to_string(starts.made) +
         std::string(kNothingIsDrawn);
}

std::string name_taken(const Node& other) {
  return "another " + to_string(other) +
         " is running: give this one another name (escrow.node), or wait 5 s if that one has just been killed";
}

std::string directory_copied(const Node& other) {
  return to_string(other) +
         " is running from this data directory or from a copy of it: give each node a directory of its own, and begin "
         "this one with an empty one";
}

std::string copy_started() {
  return "a node has been started from a copy of this data directory since this one was last used, and has gone on "
         "with "
         "what it had: start from that one, or begin with an empty directory";
}

std::string fenced(const Node& self, const Node& successor) {
  return to_string(successor) + " has come in the place of " + to_string(self) +
         " while this one was not heard of: start it again if it is to go on, with a name and a data directory that no "
         "other node has";
}

}  // namespace mete::escrow
