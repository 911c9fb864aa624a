// `mete bench`: its place on the command line.
#include <string>
#include <utility>
#include <vector>

#include "cli/client/client.h"
#include "lab/bench/bench.h"
#include "lab/bench/scenarios.h"
#include "lab/commands.h"

namespace mete::lab {

namespace {

// None is negative: none_is_negative() has seen to that.
std::uint64_t number_of(const cli::Invocation& invocation, cli::Console& console, const std::string& option) {
  return static_cast<std::uint64_t>(invocation.number(option, console));
}

bool none_is_negative(const cli::Invocation& invocation, cli::Console& console) {
  for (const cli::Option& option : invocation.command->options) {
    if (option.kind != cli::ValueKind::kNumber || !invocation.value(option.name, console).starts_with('-')) continue;
    cli::fail_usage(invocation, console, "option '--" + option.name + "' must not be negative");
    return false;
  }
  return true;
}

Result<int> run_bench_command(const cli::Invocation& invocation, cli::Console& console) {
  if (!none_is_negative(invocation, console)) return cli::kExitError;
  BenchOptions options;
  options.server.address = invocation.value("server", console);
  options.server.password = invocation.value("password", console);
  options.http = invocation.value("http", console);
  options.scenario = invocation.value("scenario", console);
  options.command = invocation.arguments;
  options.connections = number_of(invocation, console, "connections");
  options.pipeline = number_of(invocation, console, "pipeline");
  options.threads = number_of(invocation, console, "threads");
  options.keys = number_of(invocation, console, "keys");
  options.warm_up = invocation.duration("warm-up", console);
  options.duration = invocation.duration("duration", console);
  options.requests = number_of(invocation, console, "requests");
  options.rate = number_of(invocation, console, "rate");
  options.fill = invocation.is_on("fill");
  options.process_id = number_of(invocation, console, "pid");
  options.json = invocation.is_on("json");
  if (!options.command.empty() && invocation.given("scenario")) {
    return cli::fail_usage(invocation, console, "give --scenario or the words of a command, not both");
  }
  return run_bench(options, console.out, console.error);
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios()) names.emplace_back(scenario.name);
  return names;
}

std::string scenario_list() {
  std::string list = "The scenarios:";
  for (const Scenario& scenario : scenarios()) {
    list += (list.ends_with(':') ? " " : "; ") + std::string(scenario.name) + ": " + std::string(scenario.help);
  }
  return list + ".";
}

std::vector<cli::Option> bench_options() {
  using Kind = cli::ValueKind;
  return {
      cli::server_option(),
      cli::password_option(),
      {"http", Kind::kText, "URL", "Where HTTP scenarios go; they are set up over RESP", "http://127.0.0.1:8380"},
      {"scenario", Kind::kChoice, "NAME", "What is sent", "take-bucket", "", scenario_names()},
      {"connections", Kind::kNumber, "N", "Connections at once", "50"},
      {"pipeline", Kind::kNumber, "N", "Requests that a connection sends at once", "1"},
      {"threads", Kind::kNumber, "N", "Threads of the generator", "1"},
      {"keys", Kind::kNumber, "N", "{key} is one of so many, at random", "100000"},
      {"fill", Kind::kNone, "", "Use every key once before the warm-up"},
      {"warm-up", Kind::kDuration, "DURATION", "Load that is not measured yet", "1s"},
      {"duration", Kind::kDuration, "DURATION", "How long it is measured", "5s"},
      {"requests", Kind::kNumber, "N", "Measure so many requests instead, in whole batches of --pipeline; 0: by time",
       "0"},
      {"rate", Kind::kNumber, "N", "Requests a second, whether replies come or not; 0: as fast as it goes", "0"},
      {"pid", Kind::kNumber, "N", "The server's process on this machine; 0: the server is asked", "0"},
      {"json", Kind::kNone, "", "Print one line of JSON"},
  };
}

}  // namespace

cli::Command bench_command() {
  return {
      .name = "bench",
      .summary = "Load a RESP or HTTP server, and tell how fast it answers and what that costs it",
      .description =
          {"Any RESP server will do: Mete, Redis, Valkey. Without --rate each connection sends again as soon as it is "
           "answered. With --rate requests are due at fixed times, and latency counts from then. The server's "
           "processor time per request is read from the system, if the server runs on this machine.",
           scenario_list(),
           "A scenario defines the limits that it takes from, bench-bucket and so on, and leaves them on the server "
           "with "
           "their meters: 'mete limit del' removes them.",
           "Instead of a scenario, the words of a command can be given: {key} in them is a random number below "
           "--keys, {seq} a number that no other request has."},
      .arguments =
          {{.name = "WORD", .help = "The words of a command to send", .is_optional = true, .is_repeated = true}},
      .options = bench_options(),
      .examples = {{"mete bench --pipeline 64", "Take from a bucket, 64 requests at a time"},
                   {"mete bench --rate 20000 TAKE api 'user:{key}'", "Latency of a command at a given load"}},
      .statuses = {{cli::kExitNo, "measured, but some replies were errors"}},
      .run = run_bench_command};
}

}  // namespace mete::lab
