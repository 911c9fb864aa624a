// The answers that several commands share, as a line of text and as JSON. The names in JSON are those of the HTTP API.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <span>
#include <string>
#include <string_view>

#include "cli/frame/command.h"
#include "core/verdict.h"

namespace mete::cli {

// "9 of 10 left, full again in 6 s"
std::string standing_text(const core::Verdict& verdict);
// "denied by api: try again in 6 s; 3 of 10 left"
std::string denial_text(const core::Verdict& verdict, std::span<const Charge> charges);

// The answer to a give, a commit or a cancel. `name` is that of its amount: "returned". Returns the exit status.
Result<int> print_settlement(const Result<Settlement>& settlement, std::string_view name, const Invocation& invocation,
                             Console& console);

}  // namespace mete::cli
