// Microseconds: what Redis's clock counts, and so what a store on it can tell apart. What is finer is refused.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <string_view>

namespace mete::store::redis {

inline constexpr std::int64_t kNsPerMicro = 1000;
// How much longer than needed Redis keeps something: the clock of the next master may be behind. As in lua/margin.lua.
inline constexpr std::uint64_t kMarginUs = 5'000'000;

// In whole microseconds; kInvalid, with the field's name, if that would round it.
Result<std::int64_t> micros_of(std::string_view field, Duration length);
Result<std::uint64_t> micros_of(std::string_view field, Instant at);

// Saturates, as all times do.
Instant instant_of_micros(std::uint64_t micros);

}  // namespace mete::store::redis
