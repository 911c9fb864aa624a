// The names of the enumerations that users see.
#include <mete/decision.h>
#include <mete/limit.h>

#include "core/key_requests.h"

namespace mete {

std::string_view to_string(Kind kind) {
  constexpr std::string_view kNames[] = {"bucket", "window", "sliding", "calendar", "stock"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Unit unit) {
  constexpr std::string_view kNames[] = {"hour", "day", "week", "month", "year"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string_view to_string(Durable durable) {
  constexpr std::string_view kNames[] = {"always", "everysec", "never"};
  return kNames[static_cast<std::size_t>(durable)];
}

std::string_view to_string(OnFail on_fail) {
  constexpr std::string_view kNames[] = {"closed", "open"};
  return kNames[static_cast<std::size_t>(on_fail)];
}

std::string_view to_string(Scope scope) {
  constexpr std::string_view kNames[] = {"node", "shared", "escrow"};
  return kNames[static_cast<std::size_t>(scope)];
}

std::string_view to_string(HoldState state) {
  constexpr std::string_view kNames[] = {"held", "committed", "cancelled", "expired"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view core::to_string(KeyType type) {
  constexpr std::string_view kNames[] = {"none", "string", "quota", "throttle"};
  return kNames[static_cast<std::size_t>(type)];
}

}  // namespace mete
