// The statements of the store: calls of the functions in sql/functions/100_store.sql, and nothing else. Their names end
// with the version of the schema: a pooler may keep those of the version before on the same connection.
#pragma once

#include "store/postgres/connection.h"

namespace mete::store::postgres {

#define METE_OUTCOME "select allowed, amount, remaining, capacity, retry_us, reset_us, violated, now_us, usages from "

inline constexpr Statement kTake = {
    "mete_take_4", METE_OUTCOME
    "mete_private.store_take($1::text[], $2::text[], $3::bigint[], $4::text, $5::text, $6::bigint, "
    "$7::text, $8::boolean, $9::boolean, $10::bigint, $11::bigint, $12::boolean)"};
inline constexpr Statement kTakeOne = {
    "mete_take_one_4", METE_OUTCOME "mete_private.store_take_one($1::text, $2::text, $3::bigint, $4::bigint)"};
inline constexpr Statement kHoldOne = {
    "mete_hold_one_4", METE_OUTCOME
    "mete_private.store_hold_one($1::text, $2::text, $3::bigint, $4::text, $5::bigint, $6::text, "
    "$7::boolean, $8::bigint, $9::bigint)"};
inline constexpr Statement kEach = {
    "mete_each_4", METE_OUTCOME
    "mete_private.store_each($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint, "
    "$8::bigint)"};
inline constexpr Statement kRecall = {
    "mete_recall_4", METE_OUTCOME
    "mete_private.store_recall($1::text[], $2::text[], $3::bigint[], $4::text, $5::text, $6::bigint, $7::bigint)"};
inline constexpr Statement kPeek = {
    "mete_peek_4",
    METE_OUTCOME "mete_private.store_peek($1::text[], $2::text[], $3::bigint[], $4::bigint, $5::boolean)"};
inline constexpr Statement kGive = {
    "mete_give_4",
    METE_OUTCOME "mete_private.store_give($1::text[], $2::text[], $3::bigint[], $4::text, $5::bigint, $6::bigint)"};
inline constexpr Statement kClose = {
    "mete_close_4", METE_OUTCOME
    "mete_private.store_close($1::text, $2::text, $3::bigint[], $4::boolean, $5::bigint, $6::bigint, "
    "$7::bigint)"};

#undef METE_OUTCOME
// One row at least, for its time.
#define METE_HOLDS_OF(call)                                                                                    \
  "select h.id, h.state, h.expires_in_us, h.age_us, h.tag, h.\"limit\", h.key, h.amount, "                     \
  "(extract(epoch from clock_timestamp()) * 1000000)::bigint from (select 1) one left join mete_private." call \
  " h on true"

inline constexpr Statement kFindHold = {"mete_find_hold_4",
                                        METE_HOLDS_OF("store_find_hold($1::text, $2::bigint, $3::bigint)")};
inline constexpr Statement kOldestHolds = {"mete_oldest_holds_4",
                                           METE_HOLDS_OF("store_oldest_holds($1::bigint, $2::bigint)")};

#undef METE_HOLDS_OF

inline constexpr Statement kHolds = {
    "mete_holds_4", "select * from mete_private.store_holds($1::text, $2::text, $3::bigint, $4::bigint)"};
inline constexpr Statement kHoldsTagged = {"mete_holds_tagged_4",
                                           "select * from mete_private.store_holds_tagged($1::text, $2::bigint)"};
inline constexpr Statement kUsage = {"mete_usage_4",
                                     "select used, held, remaining, capacity, reset_us, now_us from "
                                     "mete_private.store_usage($1::text, $2::text, $3::bigint)"};
inline constexpr Statement kScan = {"mete_scan_4",
                                    "select next, key, used, held, remaining, capacity, reset_us from "
                                    "mete_private.store_scan($1::text, $2::bigint, $3::bigint, "
                                    "$4::bigint)"};
inline constexpr Statement kReconcile = {"mete_reconcile_4",
                                         "select used_before, used_now, now_us from "
                                         "mete_private.store_reconcile($1::text, $2::text, $3::bigint, $4::bigint)"};
inline constexpr Statement kShift = {
    "mete_shift_4",
    "select change, is_late from mete_private.store_shift($1::text, $2::text[], $3::bigint[], $4::bigint, $5::bigint)"};
inline constexpr Statement kOverride = {
    "mete_override_4", "select mete_private.store_override($1::text, $2::text, $3::bigint, $4::bigint)"};
inline constexpr Statement kOverrideOf = {"mete_override_of_4",
                                          "select mete_private.store_override_of($1::text, $2::text)"};
// The columns of a limit are in the order of core/limit_fields.h, behind the name.
inline constexpr Statement kDefine = {
    "mete_define_4",
    "select mete_private.store_define(name => $1::text, kind => $2::text, amount => $3::bigint, period_us => "
    "$4::bigint, "
    "burst => $5::bigint, unit => $6::text, zone => $7::text, anchor => $8::integer, shadow => $9::boolean, "
    "durable => $10::text, on_fail => $11::text, scope => $12::text, floor_us => $13::bigint)"};
inline constexpr Statement kDrop = {"mete_drop_4", "select mete.drop_limit($1::text)"};
inline constexpr Statement kLimits = {
    "mete_limits_4",
    "select name, kind, amount, nullif(period_us, 0), burst, unit, zone, anchor, shadow::integer, durable, on_fail, "
    "scope from mete_private.store_limits() where name = coalesce($1::text, name)"};
inline constexpr Statement kTime = {"mete_time_4", "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"};
inline constexpr Statement kClear = {"mete_clear_4", "select mete_private.store_clear()"};
inline constexpr Statement kExpire = {
    "mete_expire_4", "select expired, swept from mete_private.store_expire($1::integer, $2::bigint, $3::boolean)"};
inline constexpr Statement kStatistics = {
    "mete_statistics_4",
    "select limits, rules, meters, overrides, ids, open_holds, orphans, bytes from mete_private.store_statistics()"};

}  // namespace mete::store::postgres
