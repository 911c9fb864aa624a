// Scenarios: what `mete bench` can be asked for by name. Each is declared once, in scenarios.cc.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench/bench.h"
#include "lab/bench/requests.h"

namespace mete::lab {

struct Scenario {
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> setup = {};           // commands that the server is sent first, as words between spaces
  std::string_view script = {};                       // a Lua script to load first; {script} in the commands is its id
  std::vector<std::string_view> commands = {};        // the operation, each with {key} and {seq}
  std::string_view http_path = {};                    // of a POST; then the only command is its body
  std::optional<std::int64_t> denial = std::nullopt;  // the integer that a reply of a denial is or begins with
};

std::span<const Scenario> scenarios();

// What is to be sent over and over, ready for the generator.
struct Workload {
  std::string name;
  std::vector<Request> steps = {};
  std::optional<std::int64_t> denial = std::nullopt;
  bool is_http = false;
};

// Sets the server up for the scenario, or for the command that the options name instead.
Result<Workload> prepare_workload(const BenchOptions& options, cli::Connection& control);

// "http://127.0.0.1:8380" as an address.
Result<std::string> address_of_url(std::string_view url);

}  // namespace mete::lab
