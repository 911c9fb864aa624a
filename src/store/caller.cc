#include "store/caller.h"

#include "base/errors.h"

namespace mete::store::reserved {

Error not_for_clients(std::string_view field, std::string_view text) {
  return base::invalid(std::string(field) + " must not start with '" + std::string(text) +
                       "': such names are for what nodes keep for themselves");
}

std::optional<Error> refusal(std::span<const Charge> charges) {
  const auto is_reserved = [](const Charge& charge) { return core::is_reserved_limit(charge.limit); };
  const auto found = std::find_if(charges.begin(), charges.end(), is_reserved);
  return found == charges.end() ? std::nullopt : std::optional(core::unknown_limit(found->limit));
}

}  // namespace mete::store::reserved
