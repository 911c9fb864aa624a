// The subcommands for trying Mete out: under load, as a cluster on this machine, and in the simulator.
#pragma once

#include "cli/frame/command.h"

namespace mete::lab {

cli::Command bench_command();
cli::Command cluster_command();
cli::Command sim_command();

}  // namespace mete::lab
