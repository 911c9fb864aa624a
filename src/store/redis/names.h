// Names: what the parts of a store are called in Redis.
//
//     mete:{K}:limit         the meter of a limit for the key K
//     mete.held:{K}:limit    what is held of it
//     mete.key:{K}           the counter, quota or throttle K
//     mete.key:{K}:7         the same, after everything was cleared seven times
//     mete.id:{ID}           an operation with an id, or a hold
//     mete.id:{K}:ID         the same in a Cluster, where it lies with the meters of K
//     mete.at:{ID}           there: which keys' nodes the operation is on
//     mete.tag:{TAG}         the open holds of a tag
//     mete.limits            the definitions
//
// In braces stands what a Cluster chooses the slot by, so that all limits of one key lie on one node. There '}' would
// end it, and so '}' and the sign that escapes it are written %7D and %25. The epoch stands in a key's name, so that
// what was written before a clear is not even found after it, and a counter's text is its number alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mete::store::redis {

std::string escape_key(std::string_view key);
// None if that is no escaped key.
std::optional<std::string> unescape_key(std::string_view text);
// The escaped key in its braces.
std::string tagged(std::string_view key);

inline constexpr std::string_view kLimitsKey = "mete.limits";
// Its fields that are no limits: a limit's name has no such character.
inline constexpr std::string_view kGenerationField = "\1generation";
inline constexpr std::string_view kEpochField = "\1epoch";
inline constexpr std::string_view kFormatField = "\1format";
inline constexpr std::string_view kFormat = "1";  // of all that is written here

std::string meter_key(std::string_view limit, std::string_view key);
// The same behind what is there already.
void append_meter_key(std::string& output, std::string_view limit, std::string_view key);
// What is held of a meter, by the meter's name.
std::string held_key(std::string_view meter_key);
std::string id_key(std::string_view id);
std::string id_key_at(std::string_view key, std::string_view id);
std::string locator_key(std::string_view id);
std::string tag_key(std::string_view tag);

// What a meter's name says; none if it is no such name.
struct MeterKey {
  std::string limit;
  std::string key;
};
std::optional<MeterKey> parse_meter_key(std::string_view name);
// Patterns for SCAN: the meters of a limit, all of them, and operations with an id.
std::string meter_pattern(std::string_view limit);
inline constexpr std::string_view kMeterPattern = "mete:{*}:*";
inline constexpr std::string_view kIdPattern = "mete.id:{*}*";
// An operation's id, and in a Cluster the key that it lies with.
struct IdKey {
  std::string id;
  std::string home;
};
std::optional<IdKey> parse_id_key(std::string_view name, bool is_cluster);

std::string key_name(std::string_view key, std::uint64_t epoch);

struct KeyName {
  std::string key;
  std::uint64_t epoch = 0;

  bool operator==(const KeyName&) const = default;
};
// None if that is not the name of a key: somebody else's, or another part of the store.
std::optional<KeyName> parse_key_name(std::string_view name);
// Matches the names of all keys, in all epochs, as SCAN takes it.
inline constexpr std::string_view kKeyNamePattern = "mete.key:*";

}  // namespace mete::store::redis
