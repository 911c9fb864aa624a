// Names: what the store's keys are called in Redis. A user's key is the hash tag, so that in a Cluster everything of
// one key lies on one node; '%' and '}' in it are written %25 and %7D, so that the tag ends where the key does.
//
//   mete:{key}:limit        a meter                       mete.id:{id}      an operation with an id; a hold
//   mete.held:{key}:limit   what is held of it            mete.tag:{tag}    the open holds of a tag
//   mete.key:{key}          a counter, quota or throttle  mete.limits       the definitions
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mete::store::redis {

inline constexpr std::string_view kLimitsKey = "mete.limits";
inline constexpr std::string_view kGenerationField = "\1generation";
inline constexpr std::string_view kEpochField = "\1epoch";
inline constexpr std::string_view kFormatField = "\1format";
inline constexpr std::string_view kFormat = "1";  // of all that is written here

void append_escaped(std::string& out, std::string_view key);
std::string unescaped(std::string_view text);

std::string meter_key(std::string_view limit, std::string_view key);
// What is held of a meter, by the meter's name.
std::string held_key(std::string_view meter_key);
std::string id_key(std::string_view id);
std::string tag_key(std::string_view tag);

// A pattern for SCAN that the meters of a limit match.
std::string meter_pattern(std::string_view limit);
// What a meter's name in Redis says; none if it is no such name.
struct MeterKey {
  std::string limit;
  std::string key;
};
std::optional<MeterKey> parse_meter_key(std::string_view name);
std::string any_meter_pattern();
// The names of operations with an id, and the id of one.
std::string id_pattern();
std::string id_of_key(std::string_view name);
// As a pattern that only this text matches.
std::string literal_pattern(std::string_view text);

}  // namespace mete::store::redis
