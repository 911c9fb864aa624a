// Processes: the same work in several processes at once, each of which tells what it was told.
//
// They are forked, so no other thread may run in this one at that time. They end with this object at the latest.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "faults/load.h"
#include "net/descriptor.h"

namespace mete::faults {

class Processes {
 public:
  Processes(int count, const std::function<Tally()>& work);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  [[nodiscard]] const std::vector<pid_t>& pids() const { return pids_; }
  // Waits for all, and adds up what they counted. One that has failed is an exception.
  Tally join();

 private:
  std::vector<pid_t> pids_;
  net::Descriptor counts_;  // a pipe, into which each writes once
};

}  // namespace mete::faults
