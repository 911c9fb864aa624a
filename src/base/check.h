// CHECK: always on, for what must never be. It is no way to report bad input: that gets an Error.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace mete::base {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace mete::base

#define CHECK(condition)                                      \
  (__builtin_expect(static_cast<bool>(condition), 1) ? void() \
                                                     : ::mete::base::check_failed(__FILE__, __LINE__, #condition))
