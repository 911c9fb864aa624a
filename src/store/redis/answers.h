// Small parts of calls and answers.
#pragma once

#include <mete/decision.h>

#include <span>
#include <string>
#include <string_view>

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

// Whether a script could not do its work before the caller has done something.
bool stands_in_the_way(const wire::RespValue& reply);

}  // namespace mete::store::redis
