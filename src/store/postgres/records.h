// Records: what the rows of the schema mean (sql/010_tables.sql): limits, outcomes, usages and holds. Columns are in
// the order of statements.h. What somebody else has written there is an error that names it.
#pragma once

#include <mete/decision.h>
#include <mete/limit.h>
#include <mete/result.h>

#include <span>
#include <string_view>
#include <vector>

#include "core/verdict.h"
#include "store/postgres/parameters.h"
#include "store/postgres/sql_result.h"

namespace mete::store::postgres {

// The parameters of kDefine. Refuses a period that is finer than the server's clock.
Result<Parameters> definition_of(const Limit& limit, std::uint64_t floor_us);

// Of a row of kLimits.
Result<Limit> limit_of(const Rows& rows, std::size_t row);

// An outcome that is a row of nulls: the limit is unknown.
bool is_none(const Rows& rows, std::size_t row);
Result<core::Verdict> verdict_of(const Rows& rows, std::size_t row);
// Of a row that has a verdict.
Result<std::uint64_t> now_us_of(const Rows& rows, std::size_t row);
// How each charge's meter stands, where it is told.
Result<void> read_usages(const Rows& rows, std::size_t row, std::span<Usage> usages);
// Five columns: used, held, remaining, limit, reset_us. `whose`: as errors name it.
Result<Usage> usage_of(const Rows& rows, std::size_t row, std::size_t first_column, std::string_view whose);
// A row for each charge; those of one hold lie together.
Result<std::vector<HoldInfo>> holds_of(const Rows& rows);
Result<std::uint64_t> holds_now_us(const Rows& rows);

}  // namespace mete::store::postgres
