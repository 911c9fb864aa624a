// Parts of calls and replies that the files of the store have in common.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"
#include "store/redis/client/link.h"

namespace mete::store::redis {

// The reply to a command of a batch, if it is none of an error: else kOutOfMemory, or kUnavailable with Redis's words
// and the names of the keys that the command was for.
Result<wire::RespValue> unless_error(Result<wire::RespValue> reply, const Batch& batch, std::size_t index);

// What to say of a reply, or of what is in Redis, that is not as this program makes it.
Error unexpected_reply(std::string_view what);
// The same of a record, or of something in it, by the record's name in Redis.
Error unreadable_record(std::string_view name, std::string_view text);
// An error about what was found in a record says where that is.
inline auto naming(std::string_view name) {
  return [name](Error error) {
    error.message.append(" (in ").append(name).append(")");
    return error;
  };
}

// An element of a reply, nil where there is none: a reply has the shape that the other side gave it.
const wire::RespValue& element(const wire::RespValue& reply, std::size_t index);

// Numbers that are told as text, because a script's own lose digits.
Result<std::uint64_t> read_natural(const wire::RespValue& value);
Result<Amount> read_units(const wire::RespValue& value);

// One step of a SCAN on one master after the other, while everything goes on. Redis may tell a name twice.
struct ScanPage {
  std::uint64_t cursor = 0;  // 0: this was the last page
  std::vector<std::string> names = {};
};
Result<ScanPage> scan_masters(Link& link, std::string_view pattern, std::uint64_t cursor, std::size_t count);

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
