// The timeout of a call, as the URLs of stores that lie elsewhere say it: ?timeout=250ms. Pure.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <string_view>

namespace mete::store {

inline constexpr Duration kTimeoutMin = std::chrono::milliseconds(1);
inline constexpr Duration kTimeoutMax = std::chrono::minutes(1);

// The message of the error begins with the parameter's name.
Result<Duration> parse_timeout(std::string_view text);

}  // namespace mete::store
