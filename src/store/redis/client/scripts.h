// The Lua scripts of the Redis store. Their texts are files in lua/, compiled into the program; a script's digest names
// it in Redis, so that different versions of Mete may use one Redis side by side, each with its own scripts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mete::store::redis {

enum class Script : std::uint8_t {
  kCharge,      // a take on buckets in their plain form: one charge or several
  kChargeEach,  // takes on such buckets, of one charge each
  kTake,        // any take: one charge or several
  kSettle,      // gives, holds, and what becomes of holds
  kLook,        // reads meters, and changes nothing
  kReplace,     // a meter as it was read becomes another one, if nobody was there in between
  kDefine,      // limits, likewise
  kKeys,        // counters, quotas and throttles
};
inline constexpr std::size_t kScriptCount = 8;

// The whole text, as EVAL and SCRIPT LOAD take it.
std::string_view script_text(Script script);
// SHA-1 of the text, in hexadecimal: what EVALSHA takes.
std::string_view script_digest(Script script);

}  // namespace mete::store::redis
