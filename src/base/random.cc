#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace mete::base {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  return number;
}

std::string random_id() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  id.reserve(32);
  for (int half = 0; half < 2; ++half) {
    std::uint64_t bits = random_number();
    for (int digit = 0; digit < 16; ++digit, bits >>= 4) id += kDigits[bits & 15];
  }
  return id;
}

}  // namespace mete::base
