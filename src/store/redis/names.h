// Names: what the parts of a store are called in Redis.
//
//     mete.key:{K}      the counter, quota or throttle K
//     mete.key:{K}:7    the same, after everything was cleared seven times
//
// The epoch stands in the name, so that what was written before a clear is not even found after it, and a counter's
// text is its number alone. In braces stands what a Cluster chooses the slot by: there '}' would end it, and so '}' and
// the sign that escapes it are written %7D and %25.
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
