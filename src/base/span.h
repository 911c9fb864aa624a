// Span: a stretch of time, half open: it holds `start` and ends just before `end`.
#pragma once

#include <mete/time.h>

namespace mete::base {

struct Span {
  Instant start;
  Instant end;

  [[nodiscard]] constexpr bool contains(Instant at) const { return start <= at && at < end; }
  bool operator==(const Span&) const = default;
};

}  // namespace mete::base
