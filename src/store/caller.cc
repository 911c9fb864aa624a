#include "store/caller.h"

#include "base/errors.h"

namespace mete::store::reserved {

Error not_for_clients(std::string_view field, std::string_view text) {
  return base::invalid(std::string(field) + " must not start with '" + std::string(text) +
                       "': such names are for what nodes keep for themselves");
}

std::optional<Error> refusal(const core::MeterName& meter) {
  if (core::is_reserved_limit(meter.limit)) return core::unknown_limit(meter.limit);
  if (core::is_reserved_key(meter.key)) return core::reserved_key(meter.key);
  return std::nullopt;
}

std::optional<Error> refusal(std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    if (auto error = refusal(core::MeterName{charge.limit, charge.key})) return error;
  }
  return std::nullopt;
}

}  // namespace mete::store::reserved
