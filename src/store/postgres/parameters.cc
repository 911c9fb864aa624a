#include "store/postgres/parameters.h"

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

Parameters& Parameters::add(std::string_view text) {
  values_.emplace_back(text);
  return *this;
}

Parameters& Parameters::add(std::int64_t number) {
  values_.emplace_back(std::to_string(number));
  return *this;
}

Parameters& Parameters::add_null() {
  values_.emplace_back();
  return *this;
}

Parameters& Parameters::add(const std::optional<std::int64_t>& number) { return number ? add(*number) : add_null(); }

// {"a","b"}: in quotes all bytes stand for themselves but the quote and the backslash.
Parameters& Parameters::add(std::span<const std::string> texts) {
  std::string array = "{";
  for (const std::string& text : texts) {
    if (array.size() > 1) array += ',';
    array += '"';
    for (const char byte : text) {
      if (byte == '"' || byte == '\\') array += '\\';
      array += byte;
    }
    array += '"';
  }
  values_.emplace_back(array + '}');
  return *this;
}

Parameters& Parameters::add(std::span<const std::int64_t> numbers) {
  std::string array = "{";
  for (const std::int64_t number : numbers) {
    if (array.size() > 1) array += ',';
    array += std::to_string(number);
  }
  values_.emplace_back(array + '}');
  return *this;
}

Parameters& add_text(Parameters& parameters, std::string_view bytes) { return parameters.add(to_text(bytes)); }

Parameters& add_optional_text(Parameters& parameters, std::string_view bytes) {
  return bytes.empty() ? parameters.add_null() : add_text(parameters, bytes);
}

// limit 'api', key 'alice'
Parameters& Parameters::about(std::string_view kind, std::string_view name) {
  if (!subject_.empty()) subject_ += ", ";
  subject_ += kind;
  subject_ += " '";
  subject_ += name;
  subject_ += '\'';
  return *this;
}

Parameters& add_meter(Parameters& parameters, const core::MeterName& meter) {
  add_limit(parameters, meter.limit).about("key", meter.key);
  return add_text(parameters, meter.key);
}

Parameters& add_limit(Parameters& parameters, std::string_view limit) {
  return add_text(parameters.about("limit", limit), limit);
}

Parameters& add_hold(Parameters& parameters, std::string_view id) { return add_text(parameters.about("hold", id), id); }

Parameters& add_charge(Parameters& parameters, const Charge& charge) {
  parameters.about(charge);
  return add_text(add_text(parameters, charge.limit), charge.key).add(charge.cost);
}

Parameters& add_charges(Parameters& parameters, std::span<const Charge> charges) {
  std::vector<std::string> limits;
  std::vector<std::string> keys;
  std::vector<std::int64_t> costs;
  for (const Charge& charge : charges) {
    parameters.about(charge);
    limits.push_back(to_text(charge.limit));
    keys.push_back(to_text(charge.key));
    costs.push_back(charge.cost);
  }
  parameters.add(std::span<const std::string>(limits)).add(std::span<const std::string>(keys));
  return parameters.add(std::span<const std::int64_t>(costs));
}

}  // namespace mete::store::postgres
