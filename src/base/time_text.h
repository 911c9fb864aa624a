// Instants as text.
#pragma once

#include <mete/time.h>

#include <string>

namespace mete::base {

// In UTC, cut to milliseconds: "2026-11-15T11:03:04.123Z".
std::string time_text(Instant time);

}  // namespace mete::base
