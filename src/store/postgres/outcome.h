// What the functions answer (sql/010_tables.sql: mete.outcome), read from rows. Columns are in the order of
// statements.h.
#pragma once

#include <mete/decision.h>

#include <span>
#include <vector>

#include "core/verdict.h"
#include "store/postgres/rows.h"

namespace mete::store::postgres {

// A row of nulls: the limit is unknown.
bool is_none(const Rows& rows, std::size_t row);
core::Verdict verdict_of(const Rows& rows, std::size_t row);
std::uint64_t now_us_of(const Rows& rows, std::size_t row);
// How each charge's meter stands, where it is told.
void read_usages(const Rows& rows, std::size_t row, std::span<Usage> usages);
// Five columns: used, held, remaining, limit, reset_us.
Usage usage_of(const Rows& rows, std::size_t row, std::size_t first_column);
// A row for each charge; those of one hold lie together.
std::vector<HoldInfo> holds_of(const Rows& rows);
std::uint64_t holds_now_us(const Rows& rows);

}  // namespace mete::store::postgres
