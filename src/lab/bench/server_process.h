// ServerProcess: what the measured server is, and the processor time that it has used, as Linux counts it.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>

#include "lab/bench/bench.h"

namespace mete::lab {

struct ServerProcess {
  std::string version = {};      // "mete 0.1.0", "redis 7.0.15"; empty if the server does not tell
  std::uint64_t process_id = 0;  // 0: not known, or on another machine
};

// Asks the server (INFO). A process id that the options name must exist.
Result<ServerProcess> find_server_process(const BenchOptions& options, cli::Connection& control);

// All threads of the process together, in nanoseconds; up to a clock tick behind for a thread that is running.
Result<std::uint64_t> processor_time_ns(std::uint64_t process_id);
// Of this process.
std::uint64_t own_processor_time_ns();

// The value of "name:value" in the reply of INFO; empty if there is none.
std::string info_field(const std::string& info, const std::string& name);

}  // namespace mete::lab
