// Instants and durations as text.
#pragma once

#include <mete/time.h>

#include <string>

namespace mete::base {

// In UTC, cut to milliseconds: "2026-11-15T11:03:04.123Z".
std::string time_text(Instant time);

// As people write it: "250ms", "5m", "30d". In the largest unit that says it exactly; what is less than a millisecond
// in us or ns. Duration::never() is "never".
std::string duration_text(Duration duration);

// How long is left, for people: never too short, and to two units at most: "59m58s", "1d3h", "never".
std::string about_text(Duration duration);

}  // namespace mete::base
