// The answers to parts of one operation, as one answer.
#pragma once

#include <algorithm>
#include <span>

#include "core/verdict.h"

namespace mete::escrow {

// An answer to some charges of an operation, which stand there at these places.
inline core::Verdict placed(core::Verdict verdict, std::span<const std::size_t> places) {
  std::uint16_t violated = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if ((verdict.violated >> i & 1U) != 0) violated = static_cast<std::uint16_t>(violated | 1U << places[i]);
  }
  verdict.violated = violated;
  return verdict;
}

// Both are placed. The part with the least remaining stands for the whole.
inline core::Verdict merged(const core::Verdict& a, const core::Verdict& b) {
  core::Verdict whole = b.remaining < a.remaining ? b : a;
  whole.is_allowed = a.is_allowed && b.is_allowed;
  whole.violated = static_cast<std::uint16_t>(a.violated | b.violated);
  whole.taken = whole.is_allowed ? a.taken + b.taken : 0;
  whole.retry_after = std::max(a.retry_after, b.retry_after);
  return whole;
}

}  // namespace mete::escrow
