// The answers that several commands share: decisions and settlements, read from replies, as a line of text and as JSON.
//
// The names in JSON are those of the HTTP API.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <string>

#include "cli/client/replies.h"
#include "cli/frame/command.h"
#include "wire/json.h"

namespace mete::cli {

// What a take or a hold replies. `taken` is how much was taken, if as much as fits was asked for: who wants nothing of
// that is given it.
Result<HoldDecision> read_decision(const wire::RespValue& reply, bool is_hold);
// Its members, into an object that is open.
void write_decision(const Decision& decision, wire::JsonWriter& writer);

// "9 of 10 left, full again in 6 s"
std::string standing_text(const Decision& decision);
// "denied by api: try again in 6 s; 3 of 10 left". `cost` of the only charge; 0 if there are several.
std::string denial_text(const Decision& decision, Amount cost);

// What a give, a commit or a cancel replies: [amount, remaining, limit]. `name` is that of the amount: "returned".
// Prints it, and returns the exit status.
Result<int> print_settlement(const Result<wire::RespValue>& reply, const std::string& name,
                             const Invocation& invocation, Console& console);

}  // namespace mete::cli
