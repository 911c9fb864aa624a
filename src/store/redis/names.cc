#include "store/redis/names.h"

#include <charconv>

namespace mete::store::redis {

namespace {

constexpr std::string_view kKeyPrefix = "mete.key:";
constexpr std::string_view kMeterPrefix = "mete:";
constexpr std::string_view kIdPrefix = "mete.id:";
constexpr std::string_view kEscapedPercent = "%25";
constexpr std::string_view kEscapedBrace = "%7D";

// What follows the braces: nothing for epoch 0, or ":7".
std::optional<std::uint64_t> parse_epoch(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != ':') return std::nullopt;
  text.remove_prefix(1);
  std::uint64_t epoch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  // Written in one way alone, as a key has one name.
  if (!is_whole || text.front() == '0') return std::nullopt;
  return epoch;
}

void append_escaped(std::string& text, std::string_view key) {
  if (key.find_first_of("%}") == std::string_view::npos) {
    text += key;
    return;
  }
  for (const char byte : key) {
    if (byte == '%') {
      text += kEscapedPercent;
    } else if (byte == '}') {
      text += kEscapedBrace;
    } else {
      text += byte;
    }
  }
}

}  // namespace

std::string escape_key(std::string_view key) {
  std::string text;
  append_escaped(text, key);
  return text;
}

std::optional<std::string> unescape_key(std::string_view text) {
  std::string key;
  key.reserve(text.size());
  while (!text.empty()) {
    const bool is_percent = text.starts_with(kEscapedPercent);
    const bool is_brace = text.starts_with(kEscapedBrace);
    if (!is_percent && !is_brace && (text.front() == '%' || text.front() == '}')) return std::nullopt;
    key += is_percent ? '%' : is_brace ? '}' : text.front();
    text.remove_prefix(is_percent || is_brace ? kEscapedBrace.size() : 1);
  }
  return key;
}

std::string tagged(std::string_view key) { return "{" + escape_key(key) + "}"; }

std::string meter_key(std::string_view limit, std::string_view key) {
  std::string name;
  append_meter_key(name, limit, key);
  return name;
}

void append_meter_key(std::string& output, std::string_view limit, std::string_view key) {
  output += kMeterPrefix;
  output += '{';
  append_escaped(output, key);
  output += "}:";
  output += limit;
}

std::string held_key(std::string_view meter_key) {
  return "mete.held:" + std::string(meter_key.substr(kMeterPrefix.size()));
}

std::string id_key(std::string_view id) { return std::string(kIdPrefix) + tagged(id); }

std::string id_key_at(std::string_view key, std::string_view id) {
  return std::string(kIdPrefix) + tagged(key) + ":" + std::string(id);
}

std::string locator_key(std::string_view id) { return "mete.at:" + tagged(id); }

std::string tag_key(std::string_view tag) { return "mete.tag:" + tagged(tag); }

std::optional<MeterKey> parse_meter_key(std::string_view name) {
  if (!name.starts_with(kMeterPrefix)) return std::nullopt;
  name.remove_prefix(kMeterPrefix.size());
  const std::size_t end = name.find('}');
  if (end == std::string_view::npos || name.front() != '{' || name.substr(end + 1, 1) != ":") return std::nullopt;
  auto key = unescape_key(name.substr(1, end - 1));
  if (!key) return std::nullopt;
  return MeterKey{.limit = std::string(name.substr(end + 2)), .key = std::move(*key)};
}

std::string meter_pattern(std::string_view limit) {
  std::string pattern = std::string(kMeterPrefix) + "{*}:";
  for (const char byte : limit) {
    if (std::string_view("*?[]^-\\").find(byte) != std::string_view::npos) pattern += '\\';
    pattern += byte;
  }
  return pattern;
}

std::optional<IdKey> parse_id_key(std::string_view name, bool is_cluster) {
  if (!name.starts_with(kIdPrefix)) return std::nullopt;
  name.remove_prefix(kIdPrefix.size());
  const std::size_t end = name.find('}');
  if (end == std::string_view::npos || name.front() != '{') return std::nullopt;
  auto tag = unescape_key(name.substr(1, end - 1));
  const std::string_view rest = name.substr(end + 1);
  if (!tag || rest.starts_with(':') != is_cluster) return std::nullopt;
  if (!is_cluster) return IdKey{.id = std::move(*tag), .home = {}};
  return IdKey{.id = std::string(rest.substr(1)), .home = std::move(*tag)};
}

std::string key_name(std::string_view key, std::uint64_t epoch) {
  std::string name = std::string(kKeyPrefix) + tagged(key);
  if (epoch > 0) name += ":" + std::to_string(epoch);
  return name;
}

std::optional<KeyName> parse_key_name(std::string_view name) {
  if (!name.starts_with(kKeyPrefix)) return std::nullopt;
  name.remove_prefix(kKeyPrefix.size());
  const std::size_t end = name.find('}');
  if (end == std::string_view::npos || name.front() != '{') return std::nullopt;
  const auto key = unescape_key(name.substr(1, end - 1));
  const auto epoch = parse_epoch(name.substr(end + 1));
  if (!key || key->empty() || !epoch) return std::nullopt;
  return KeyName{.key = *key, .epoch = *epoch};
}

}  // namespace mete::store::redis
