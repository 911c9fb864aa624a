// The answers that several commands share: decisions and settlements, read from replies, as a line of text and as JSON.
//
// The names in JSON are those of the HTTP API.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client/replies.h"
#include "cli/frame/command.h"
#include "wire/json.h"

namespace mete::cli {

struct Answer {
  std::int64_t allowed = 0;  // 1 or 0; how much was taken, if as much as fits was asked for
  std::int64_t remaining = 0;
  std::int64_t limit = 0;
  std::int64_t retry_after_ms = 0;  // -1: never
  std::int64_t reset_after_ms = 0;  // -1: never
  std::vector<std::string> violated = {};

  // Who asks for as much as fits, and wants nothing, is given that.
  [[nodiscard]] bool is_allowed() const { return allowed > 0 || violated.empty(); }
};

// Reads what follows `allowed`.
void read_standing(ReplyReader& reader, Answer& answer);
// The members of the answer, into an object that is open.
void write_answer(const Answer& answer, wire::JsonWriter& writer);

// "9 of 10 left, full again in 6 s"
std::string standing_text(const Answer& answer);
// "denied by api: try again in 6 s; 3 of 10 left". `cost` of the only charge; 0 if there are several.
std::string denial_text(const Answer& answer, std::int64_t cost);

// What a give, a commit or a cancel replies: [amount, remaining, limit]. `name` is that of the amount: "returned".
// Prints it, and returns the exit status.
int print_settlement(const Result<wire::RespValue>& reply, const std::string& name, const Invocation& invocation,
                     Console& console);

}  // namespace mete::cli
