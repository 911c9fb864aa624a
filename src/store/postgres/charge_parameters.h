// Names, keys and charges as parameters of the store's functions. Any bytes become text: names.h.
#pragma once

#include <mete/decision.h>

#include <span>
#include <string_view>

#include "store/postgres/parameters.h"

namespace mete::store::postgres {

Parameters& add_text(Parameters& parameters, std::string_view bytes);
// Null where it is empty.
Parameters& add_optional_text(Parameters& parameters, std::string_view bytes);
// Limit, key and cost.
Parameters& add_charge(Parameters& parameters, const Charge& charge);
// The limits of all of them, their keys and their costs.
Parameters& add_charges(Parameters& parameters, std::span<const Charge> charges);

}  // namespace mete::store::postgres
