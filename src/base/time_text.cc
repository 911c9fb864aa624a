#include "base/time_text.h"

#include <ctime>

namespace mete::base {

std::string time_text(Instant time) {
  const auto seconds = static_cast<std::time_t>(time.unix_seconds());
  std::tm civil{};
  ::gmtime_r(&seconds, &civil);
  char text[32];
  std::string stamp(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", &civil));
  const std::string milliseconds = std::to_string(1000 + time.ns() / 1'000'000 % 1000);
  return stamp + milliseconds.substr(1) + "Z";
}

}  // namespace mete::base
