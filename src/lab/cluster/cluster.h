// Cluster: the processes of a ClusterPlan, running: started in order, watched, and stopped so that shares go back.
//
//     Cluster cluster(plan, console, signals);
//     if (auto ok = cluster.start(); !ok) …
//     cluster.watch();  // until somebody asks for the end
//     cluster.stop();
//
// Thread safety: none. `console` and `signals` outlive it.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/frame/command.h"
#include "lab/cluster/plan.h"
#include "lab/cluster/processes.h"

namespace mete::lab {

class Cluster {
 public:
  Cluster(ClusterPlan plan, cli::Console& console, Signals& signals);

  // The shared store, the nodes, the limit. After an error something may run: stop() ends it.
  Result<void> start();
  // Until somebody asks for the end, or no node is left: then false. Tells of processes that end, and goes on; on a
  // terminal it shows how the nodes are, once a second.
  bool watch();
  // The nodes first: they give back what they hold to the shared store. Who asks for the end again, or for whom it
  // takes too long, gets it by force.
  void stop();

 private:
  Result<void> start_child(const PlannedProcess& planned);
  Result<void> start_shared();
  Result<void> define_limit();
  // An error if a process ends meanwhile, if it takes too long, or if somebody asks for the end.
  Result<void> wait_until(const std::string& what, const std::function<bool()>& is_so);
  void tell_endings();
  void show_status(bool is_terminal);
  void clear_status();
  [[nodiscard]] std::string status_of(std::size_t node);
  [[nodiscard]] std::span<Child> nodes();
  void stop(std::span<Child> children);

  const ClusterPlan plan_;
  cli::Console& console_;
  Signals& signals_;
  std::map<std::string, std::string> environment_;  // of the children
  std::vector<Child> children_;                     // the shared store, if it is one of them, and the nodes in order
  std::vector<bool> is_told_;                       // of each child: that it has ended
  bool is_status_shown_ = false;
};

}  // namespace mete::lab
