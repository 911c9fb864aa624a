// The names of the enumerations that users see.
#include <mete/decision.h>
#include <mete/limit.h>

#include "base/names.h"
#include "core/answer_fields.h"
#include "core/key_operations.h"
#include "core/limit_fields.h"

namespace mete {

std::string_view to_string(Kind kind) { return base::name_of(core::kKindNames, kind); }
std::string_view to_string(Unit unit) { return base::name_of(core::kUnitNames, unit); }
std::string_view to_string(Durable durable) { return base::name_of(core::kDurableNames, durable); }
std::string_view to_string(OnFail on_fail) { return base::name_of(core::kOnFailNames, on_fail); }
std::string_view to_string(Scope scope) { return base::name_of(core::kScopeNames, scope); }
std::string_view to_string(HoldState state) { return base::name_of(kHoldStateNames, state); }
std::string_view core::to_string(KeyType type) { return base::name_of("none|string|quota|throttle", type); }

}  // namespace mete
