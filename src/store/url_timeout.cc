#include "store/url_timeout.h"

#include <string>

#include "base/time_text.h"
#include "wire/text.h"

namespace mete::store {

Result<Duration> parse_timeout(std::string_view text) {
  const auto timeout = wire::parse_duration(text);
  if (!timeout) return tl::make_unexpected(Error{ErrorCode::kInvalid, "timeout: " + timeout.error().message});
  if (*timeout < kTimeoutMin || *timeout > kTimeoutMax) {
    return tl::make_unexpected(Error{ErrorCode::kInvalid, "timeout is " + base::duration_text(kTimeoutMin) + " to " +
                                                              base::duration_text(kTimeoutMax) + ", and not " +
                                                              base::duration_text(*timeout)});
  }
  return *timeout;
}

}  // namespace mete::store
