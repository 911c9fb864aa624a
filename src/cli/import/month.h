// Months as they stand in the names of counters: "2026-01".
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mete::cli {

using Month = std::chrono::year_month;

// YYYY-MM, and nothing else.
std::optional<Month> parse_month(std::string_view text);
std::string month_text(Month month);

// That in which `now` lies, by the clocks of a time zone.
Result<Month> month_at(Instant now, const std::string& zone);

}  // namespace mete::cli
