// TRY: the value of a Result, or the end of the calling function with its error.
//
//     const auto meters = TRY(merge(charges));
//     TRY(validate(limit));
//
// It is a statement, the right-hand side of one, or all of a return's operand. It does not stand between other operands
// or in a list in braces: compilers forget to destroy the members that were made before a return from among them.
#pragma once

#include <utility>

#define TRY(...) TRY_COUNTED(__COUNTER__, __VA_ARGS__)
#define TRY_COUNTED(count, ...) TRY_NAMED(count, __VA_ARGS__)
#define TRY_NAMED(count, ...)                                              \
  __extension__({                                                          \
    auto&& tried_##count = (__VA_ARGS__);                                  \
    if (!tried_##count.has_value()) [[unlikely]]                           \
      return std::forward<decltype(tried_##count)>(tried_##count).error(); \
    *std::forward<decltype(tried_##count)>(tried_##count);                 \
  })
