#include "store/postgres/parameters.h"

namespace mete::store::postgres {

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

}  // namespace mete::store::postgres
