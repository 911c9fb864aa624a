// A counter in Redis: its amount, taken as it is or not at all (nothing is rounded, clamped or guessed), and the month
// in its name.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "wire/resp_reply.h"

namespace mete::cli {

// The amount; none if there is no such key; or else why what is there is no amount, to be read behind its name.
using StoredAmount = Result<std::optional<Amount>, std::string>;

// `reply` is that to GET. `least`: 0 for what is used, 1 for what there is in all.
StoredAmount read_amount(const wire::RespValue& reply, Amount least);

// A month, as it stands in the names of counters: "2026-01".
using Month = std::chrono::year_month;

// YYYY-MM, and nothing else.
std::optional<Month> parse_month(std::string_view text);
std::string month_text(Month month);

// That in which `now` lies, by the clocks of a time zone.
Result<Month> month_at(Instant now, const std::string& zone);

}  // namespace mete::cli
