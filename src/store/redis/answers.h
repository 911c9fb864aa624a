// Small parts of calls and answers.
#pragma once

#include <mete/decision.h>

#include <span>
#include <string>
#include <string_view>

#include "core/verdict.h"
#include "wire/resp_reply.h"

namespace mete::store::redis {

// What must be the same when an id is used again, as a short text.
struct Parameters {
  char kind = 't';  // take, give or hold
  char mode = '-';
  std::span<const Charge> charges = {};
  Duration ttl = {};
  std::string_view tag = {};
};
std::string fingerprint_of(const Parameters& parameters);

// Redis's clock counts whole microseconds, and shows what has passed of one only at its end: so that a wait is enough,
// it is told in those, rounded up.
core::Verdict in_clock_steps(core::Verdict verdict);

// Whether a script could not do its work before the caller has done something: by the word it says, or its answer.
bool is_problem(std::string_view text);
bool stands_in_the_way(const wire::RespValue& reply);

}  // namespace mete::store::redis
