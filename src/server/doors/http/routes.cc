// The HTTP API: every route, once. Adding one is a row here and its handler.
#include "server/doors/http/fields_and_answers.h"
#include "server/doors/http/handlers.h"
#include "server/doors/http/schemas.h"

namespace mete::server {

namespace {

using enum Access;

constexpr bool kNeedsBody = true;
constexpr bool kMayHaveBody = false;
constexpr bool kIsList = true;
constexpr bool kHasGroups = true;
constexpr bool kChanges = true;
constexpr bool kIsSlow = true;
constexpr std::string_view kAnyMethod = "*";
constexpr const Schema* kNoBody = nullptr;
constexpr std::string_view kNoContent = {};
constexpr std::string_view kMetricsContent = "text/plain";
constexpr std::span<const QuerySpec> kNoQuery = {};
constexpr std::array<int, 6> kNoOthers = {};

constexpr std::array kCheckQuery = {
    QuerySpec{"limit", MemberType::kText, false,
              "The limit's name; several times, each with a key, for several limits."},
    QuerySpec{"key", MemberType::kText, false, "Who is charged."},
    QuerySpec{"cost", MemberType::kInteger, false, "How much, from 1; 1 where it is absent."},
    QuerySpec{kRawKey, MemberType::kText, false,
              "Who is charged, in the last place: all that follows, as it stands. For what a client may have written.",
              true},
};
constexpr std::array kHoldsQuery = {
    QuerySpec{"limit", MemberType::kText, false, "With key: the open holds of this meter."},
    QuerySpec{"key", MemberType::kText, false, "With limit: the open holds of this meter."},
    QuerySpec{"count", MemberType::kInteger, false, "With limit and key: how many at most, 1 to 1000."},
    QuerySpec{"tag", MemberType::kText, false, "Alone: the open holds of this tag."},
};

// clang-format off
constexpr Route kRoutes[] = {
    // --- Operations ---
    {"take", "POST", "/v1/take", kUse, "Take, if it fits, from every limit named; or ask, take what fits, or record.",
     kNoQuery, &schema::kTake, kNeedsBody, 200, kJsonContentType, &schema::kDecision, {404, 409, 413, 415, 429}, handle_take},
    {"takes", "POST", "/v1/takes", kUse, "Up to 1000 takes that are independent of each other, and an answer to each in its place.",
     kNoQuery, &schema::kListedTake, kNeedsBody, 200, kJsonContentType, &schema::kDecision, {413, 415}, handle_takes, kIsList},
    {"check", kAnyMethod, kCheckPath, kUse, "Take, and answer by status and headers alone: for auth_request and forwardAuth; the headers Mete-Limit, Mete-Key and Mete-Cost tell what the query does not. Below this path any other will do, whose query is not read.",
     kCheckQuery, kNoBody, kMayHaveBody, 200, kNoContent, nullptr, {404, 429}, handle_check, !kIsList, kHasGroups},
    {"give", "POST", "/v1/give", kUse, "Give back what was taken, and never more than is used.",
     kNoQuery, &schema::kGive, kNeedsBody, 200, kJsonContentType, &schema::kReturned, {404, 409, 413, 415}, handle_give},

    // --- Holds ---
    {"hold", "POST", "/v1/holds", kUse, "Set charges aside until they are committed, cancelled or expire.",
     kNoQuery, &schema::kHoldRequest, kNeedsBody, 201, kJsonContentType, &schema::kHoldDecision, {404, 409, 413, 415, 429}, handle_hold},
    {"listHolds", "GET", "/v1/holds", kLook, "The open holds of a meter, or of a tag.",
     kHoldsQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, &schema::kHoldList, {404}, handle_list_holds, !kIsList, !kHasGroups, !kChanges, kIsSlow},
    {"getHold", "GET", "/v1/holds/{id}", kLook, "A hold, open or final.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, &schema::kHold, {404}, handle_get_hold},
    {"commitHold", "POST", "/v1/holds/{id}/commit", kUse, "Charge all that is held, or some of it, and return the rest.",
     kNoQuery, &schema::kCommit, kMayHaveBody, 200, kJsonContentType, &schema::kCommitted, {404, 410, 413, 415, 422}, handle_commit},
    {"cancelHold", "POST", "/v1/holds/{id}/cancel", kUse, "Return all that is held.",
     kNoQuery, &schema::kNothing, kMayHaveBody, 200, kJsonContentType, &schema::kReturned, {404, 410, 413, 415}, handle_cancel},
    {"extendHold", "POST", "/v1/holds/{id}/extend", kUse, "Let a hold expire later, or sooner.",
     kNoQuery, &schema::kExtend, kNeedsBody, 200, kJsonContentType, &schema::kExtended, {404, 410, 413, 415}, handle_extend},

    // --- Limits ---
    {"listLimits", "GET", "/v1/limits", kLook, "The names of the limits.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, &schema::kLimitList, kNoOthers, handle_list_limits},
    {"getLimit", "GET", "/v1/limits/{name}", kLook, "A limit's definition.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, &schema::kLimit, {404}, handle_get_limit},
    {"putLimit", "PUT", "/v1/limits/{name}", kAdmin, "Define a limit (201), or change it (200): what is in use stays in use.",
     kNoQuery, &schema::kLimit, kNeedsBody, 200, kJsonContentType, &schema::kLimit, {201, 413, 415}, handle_put_limit},
    {"deleteLimit", "DELETE", "/v1/limits/{name}", kAdmin, "Remove a limit and its meters.",
     kNoQuery, kNoBody, kMayHaveBody, 204, kNoContent, nullptr, {404}, handle_delete_limit},
    {"putOverride", "PUT", "/v1/limits/{name}/overrides/{key}", kAdmin, "Give one key another amount.",
     kNoQuery, &schema::kAmount, kNeedsBody, 200, kJsonContentType, &schema::kAmount, {404, 413, 415}, handle_put_override},
    {"deleteOverride", "DELETE", "/v1/limits/{name}/overrides/{key}", kAdmin, "Give one key the limit's amount again.",
     kNoQuery, kNoBody, kMayHaveBody, 204, kNoContent, nullptr, {404}, handle_delete_override},

    // --- Meters ---
    {"getMeter", "GET", "/v1/meters/{limit}/{key}", kLook, "What a key uses of a limit.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, &schema::kUsage, {404}, handle_get_meter},
    {"putMeter", "PUT", "/v1/meters/{limit}/{key}", kAdmin, "Set the usage from a source of truth; what is held stays held.",
     kNoQuery, &schema::kUsed, kNeedsBody, 200, kJsonContentType, &schema::kReconciliation, {404, 413, 415}, handle_put_meter},

    // --- Syncs ---
    {"startSync", "POST", "/v1/limits/{name}/sync", kAdmin, "Start to bring a limit's usage to what its source of truth says; listSyncs tells how it goes.",
     kNoQuery, &schema::kSyncRequest, kMayHaveBody, 202, kJsonContentType, &schema::kSyncStarted, {404, 413, 415}, handle_start_sync},
    {"listSyncs", "GET", "/v1/syncs", kAdmin, "What is synced when, and how the last runs went.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, &schema::kSyncList, kNoOthers, handle_list_syncs},

    // --- The server ---
    {"getHealth", "GET", "/healthz", kAnyone, "That the server runs, and needs no new start.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, &schema::kStatus, kNoOthers, handle_health},
    {"getReadiness", "GET", "/readyz", kAnyone, "That the server is ready for requests.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, &schema::kStatus, kNoOthers, handle_readiness},
    {"getMetrics", "GET", "/metrics", kLook, "Metrics in Prometheus's text format.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kMetricsContent, nullptr, kNoOthers, handle_metrics},
    {"getOpenApi", "GET", "/openapi.json", kAnyone, "This document.",
     kNoQuery, kNoBody, kMayHaveBody, 200, kJsonContentType, nullptr, kNoOthers, handle_openapi},
};
// clang-format on

}  // namespace

std::span<const Route> http_routes() { return kRoutes; }

}  // namespace mete::server
