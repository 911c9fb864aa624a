// Whether tests run in their long form: METE_TEST_LONG=1, which `./x test --long` sets. docs/testing.md says what each
// form proves.
#pragma once

#include <cstdlib>
#include <string_view>

namespace mete::support {

inline bool is_long_form() noexcept {
  const char* const value = std::getenv("METE_TEST_LONG");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace mete::support
