#include "store/redis/names.h"

namespace mete::store::redis {

namespace {

std::string tagged(std::string_view prefix, std::string_view key) {
  std::string name;
  name.reserve(prefix.size() + key.size() + 2);
  name += prefix;
  name += '{';
  append_escaped(name, key);
  name += '}';
  return name;
}

}  // namespace

void append_escaped(std::string& out, std::string_view key) {
  for (const char byte : key) {
    if (byte == '%') {
      out += "%25";
    } else if (byte == '}') {
      out += "%7D";
    } else {
      out += byte;
    }
  }
}

std::string unescaped(std::string_view text) {
  std::string key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view escape = text.substr(i, 3);
    if (escape == "%25" || escape == "%7D") {
      key += escape == "%25" ? '%' : '}';
      i += 2;
    } else {
      key += text[i];
    }
  }
  return key;
}

std::string meter_key(std::string_view limit, std::string_view key) {
  std::string name = tagged("mete:", key);
  name += ':';
  name += limit;
  return name;
}

std::string held_key(std::string_view meter_key) {
  return "mete.held" + std::string(meter_key.substr(std::string_view("mete").size()));
}

std::string id_key(std::string_view id) { return tagged("mete.id:", id); }

std::string tag_key(std::string_view tag) { return tagged("mete.tag:", tag); }

std::string literal_pattern(std::string_view text) {
  std::string pattern;
  for (const char byte : text) {
    if (std::string_view("*?[]^-\\").find(byte) != std::string_view::npos) pattern += '\\';
    pattern += byte;
  }
  return pattern;
}

std::string meter_pattern(std::string_view limit) { return "mete:{*}:" + literal_pattern(limit); }

std::string any_meter_pattern() { return "mete:{*}:*"; }

std::optional<MeterKey> parse_meter_key(std::string_view name) {
  constexpr std::string_view kBegin = "mete:{";
  if (!name.starts_with(kBegin)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  const std::size_t end = name.find('}');
  if (end == std::string_view::npos || name.substr(end + 1, 1) != ":") return std::nullopt;
  return MeterKey{.limit = std::string(name.substr(end + 2)), .key = unescaped(name.substr(0, end))};
}

std::string id_pattern() { return "mete.id:{*}"; }

std::string id_of_key(std::string_view name) {
  constexpr std::string_view kBegin = "mete.id:{";
  return unescaped(name.substr(kBegin.size(), name.size() - kBegin.size() - 1));
}

}  // namespace mete::store::redis
