// Microseconds: what the clocks of stores that lie elsewhere count, and so what such a store can tell apart. What is
// finer is refused.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <string_view>

namespace mete::store {

inline constexpr std::int64_t kNsPerMicro = 1000;

// In whole microseconds; kInvalid, with the field's name, if that would round it.
Result<std::int64_t> micros_of(std::string_view field, Duration length);
Result<std::uint64_t> micros_of(std::string_view field, Instant at);

// Saturates, as all times do.
Instant instant_of_micros(std::uint64_t micros);

}  // namespace mete::store
