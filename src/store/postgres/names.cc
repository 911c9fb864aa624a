#include "store/postgres/names.h"

#include <charconv>

#include "wire/text.h"

namespace mete::store::postgres {

namespace {

constexpr std::string_view kHexMark = "\\x";

}  // namespace

std::string to_text(std::string_view bytes) {
  const bool is_text = wire::is_utf8(bytes) && bytes.find('\0') == std::string_view::npos;
  if (is_text && !bytes.starts_with(kHexMark)) return std::string(bytes);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kHexMark);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 0xf];
  }
  return text;
}

std::string from_text(std::string_view text) {
  if (!text.starts_with(kHexMark)) return std::string(text);
  std::string bytes;
  for (std::size_t i = kHexMark.size(); i + 1 < text.size(); i += 2) {
    unsigned char value = 0;
    const auto [end, failure] = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    // Somebody's own: SQL takes any text for a key.
    if (failure != std::errc() || end != text.data() + i + 2) return std::string(text);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

}  // namespace mete::store::postgres
