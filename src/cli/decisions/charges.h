// Charges as they are written on the command line: LIMIT KEY [--cost N] [and LIMIT KEY [--cost N]]…
//
// A --cost belongs to the charge that it follows, as COST does in RESP; before the first one it is the first one's.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <string>
#include <vector>

#include "cli/frame/command.h"

namespace mete::cli {

std::vector<Argument> charge_arguments();
Option cost_option();

// Views into the invocation. The error is for fail_usage.
Result<std::vector<Charge>> read_charges(const Invocation& invocation);
// That of --id; empty where none is given, so none that is given may be.
Result<std::string> read_id(const Invocation& invocation);

}  // namespace mete::cli
