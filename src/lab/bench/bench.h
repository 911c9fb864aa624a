// `mete bench`: loads a RESP or HTTP server, and tells how fast it answers and what that costs it.
//
//     throughput and latency         of the replies that came while it measured
//     the server's processor time    per request: comparable on a machine that others use too
#pragma once

#include <iosfwd>

#include "lab/bench/options.h"

namespace mete::cli {

// Prints what it measured to `output`, and failures to `error`. Returns the program's exit status: 0; 1 if it could not
// measure, or replies were errors; 2 if the options make no sense.
int run_bench(const BenchOptions& options, std::ostream& output, std::ostream& error);

}  // namespace mete::cli
