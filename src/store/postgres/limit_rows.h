// Limits as rows of mete.limits, and back.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include "store/postgres/parameters.h"
#include "store/postgres/rows.h"

namespace mete::store::postgres {

// The parameters of kDefine. Refuses a period that is finer than the server's clock.
Result<Parameters> definition_of(const Limit& limit, std::uint64_t floor_us);

// Of a row of kLimits.
Result<Limit> limit_of(const Rows& rows, std::size_t row);

}  // namespace mete::store::postgres
