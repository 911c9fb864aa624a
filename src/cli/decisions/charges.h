// Charges as they are written on the command line: LIMIT KEY [--cost N] [and LIMIT KEY [--cost N]]…
//
// A --cost belongs to the charge that it follows, as COST does in RESP; before the first one it is the first one's.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/frame/command.h"

namespace mete::cli {

struct WrittenCharge {
  std::string limit;
  std::string key;
  std::string cost = {};  // an integer; empty: not said
};

std::vector<Argument> charge_arguments();
Option cost_option();

// The error is for fail_usage.
Result<std::vector<WrittenCharge>> read_charges(const Invocation& invocation);

// The cost of the only charge; 0 if there are several, since a decision is about all of them.
std::int64_t only_cost(const std::vector<WrittenCharge>& charges);

// The command with these charges, as words of RESP.
std::vector<std::string> words_of(const std::string& command, const std::vector<WrittenCharge>& charges);

}  // namespace mete::cli
