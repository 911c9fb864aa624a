// `mete bench`: loads a RESP or HTTP server, and tells how fast it answers and what that costs it.
//
//     throughput and latency         of the replies that came while it measured
//     the server's processor time    per request: comparable on a machine that others use too
#pragma once

#include <mete/time.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/client/connection.h"

namespace mete::lab {

inline constexpr std::size_t kBenchConnectionsMax = 50'000;
inline constexpr std::size_t kBenchPipelineMax = 10'000;
inline constexpr std::size_t kBenchThreadsMax = 256;
inline constexpr std::uint64_t kBenchKeysMax = 1'000'000'000;
inline constexpr std::uint64_t kBenchRateMax = 100'000'000;
inline constexpr std::uint64_t kBenchRequestsMax = 1'000'000'000'000;
inline constexpr Duration kBenchDurationMax = std::chrono::hours(24);

struct BenchOptions {
  cli::ConnectionOptions server = {};     // any RESP server; without TLS
  std::string http = {};                  // "http://127.0.0.1:8380": where HTTP scenarios go; `server` sets them up
  std::string scenario = "take-bucket";   // a name of scenarios()
  std::vector<std::string> command = {};  // instead of a scenario: the words of a command, with {key} and {seq}
  std::size_t connections = 50;           //
  std::size_t pipeline = 1;               // requests that a connection sends at once
  std::size_t threads = 1;                // of the generator
  std::uint64_t keys = 100'000;           // {key} is one of so many
  Duration warm_up = std::chrono::seconds(1);
  Duration duration = std::chrono::seconds(5);
  std::uint64_t requests = 0;    // if not 0: so many are measured instead, in whole batches
  std::uint64_t rate = 0;        // if not 0: so many requests a second, whether replies come or not
  bool fill = false;             // use every key once before the warm-up
  std::uint64_t process_id = 0;  // of the server, whose processor time is measured; 0: it is asked
  bool json = false;
};

// Prints what it measured to `output`, and failures to `error`. Returns the program's exit status: 0; 1 if it could not
// measure, or replies were errors; 2 if the options make no sense.
int run_bench(const BenchOptions& options, std::ostream& output, std::ostream& error);

}  // namespace mete::lab
