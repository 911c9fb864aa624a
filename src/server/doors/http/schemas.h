// Every object of the HTTP API. See http_schema.h for what a declaration is good for.
#pragma once

#include <array>

#include "server/doors/http/schema.h"

namespace mete::server::schema {

using enum MemberType;

inline constexpr bool kRequired = true;
inline constexpr bool kOptional = false;

// --- Parts of requests and answers -----------------------------------------------------------------------------------

inline constexpr std::array kChargeMembers = {
    MemberSpec{"limit", kText, kRequired, "The limit's name."},
    MemberSpec{"key", kText, kRequired, "Who is charged: 1 to 512 bytes of UTF-8."},
    MemberSpec{"cost", kInteger, kOptional, "How much; 1 where it is absent."},
};
inline constexpr Schema kCharge = {"Charge", kChargeMembers};

inline constexpr std::array kHeldChargeMembers = {
    MemberSpec{"limit", kText, kRequired, "The limit's name."},
    MemberSpec{"key", kText, kRequired, "Who is charged."},
    MemberSpec{"amount", kInteger, kRequired, "What is held, or was committed."},
};
inline constexpr Schema kHeldCharge = {"HeldCharge", kHeldChargeMembers};

inline constexpr MemberSpec kChargeList = {"charges", kCharges, kRequired, "1 to 16 charges, all or nothing."};
inline constexpr MemberSpec kOperationId = {
    "id", kText, kOptional, "Makes the operation idempotent: the same id with the same parameters charges once."};
inline constexpr MemberSpec kTtl = {"ttl", kDuration, kRequired, "How long from now, such as \"1h\"; up to 366d."};
inline constexpr MemberSpec kRemaining = {"remaining", kInteger, kRequired, "What is left, of the tightest charge."};
inline constexpr MemberSpec kCapacity = {"limit", kInteger, kRequired, "What a fresh meter has, of the same charge."};

// --- Requests --------------------------------------------------------------------------------------------------------

inline constexpr std::array kTakeMembers = {
    kChargeList, kOperationId,
    MemberSpec{
        "mode", kText, kOptional,
        "take: all or nothing, as where it is absent; peek: the same answer, and nothing changes; up_to: as much "
        "as fits of one charge; force: usage that already happened.",
        "take|peek|up_to|force"}};
inline constexpr Schema kTake = {"Take", kTakeMembers};

inline constexpr std::array kGiveMembers = {kChargeList, kOperationId};
inline constexpr Schema kGive = {"Give", kGiveMembers};

inline constexpr std::array kHoldRequestMembers = {
    kChargeList, kTtl, MemberSpec{"id", kText, kOptional, "The hold's id; a random one where it is absent."},
    MemberSpec{"tag", kText, kOptional, "To find the hold by, such as a job's name."}};
inline constexpr Schema kHoldRequest = {"HoldRequest", kHoldRequestMembers};

inline constexpr std::array kCommitMembers = {
    MemberSpec{"amounts", kIntegers, kOptional, "One per charge, in the hold's order; all that is held where absent."},
    MemberSpec{"overage", kBoolean, kOptional, "Take what goes beyond the hold afresh, in the same step."}};
inline constexpr Schema kCommit = {"Commit", kCommitMembers};

inline constexpr std::array<MemberSpec, 0> kNothingMembers = {};
inline constexpr Schema kNothing = {"Nothing", kNothingMembers};

inline constexpr std::array kExtendMembers = {kTtl};
inline constexpr Schema kExtend = {"Extend", kExtendMembers};

inline constexpr std::array kAmountMembers = {
    MemberSpec{"amount", kInteger, kRequired, "The amount for this key: 1 to 2^53-1."}};
inline constexpr Schema kAmount = {"Amount", kAmountMembers};

inline constexpr std::array kUsedMembers = {
    MemberSpec{"used", kInteger, kRequired, "What is in use by the source of truth, without what is held."}};
inline constexpr Schema kUsed = {"Used", kUsedMembers};

// The fields that limit_fields.h reads and writes.
inline constexpr std::array kLimitMembers = {
    MemberSpec{"name", kText, kOptional, "As in the path."},
    MemberSpec{"kind", kText, kRequired, "How capacity comes back.", "bucket|window|sliding|calendar|stock"},
    MemberSpec{"amount", kInteger, kRequired, "1 to 2^53-1."},
    MemberSpec{"period", kDuration, kOptional,
               "1ms to ten years, such as \"1m\"; of a calendar: hour, day, week, month or year; a stock has none."},
    MemberSpec{"burst", kInteger, kOptional, "A bucket's capacity; its amount where it is absent."},
    MemberSpec{"zone", kText, kOptional, "A calendar's time zone, such as Europe/Berlin; UTC where it is absent."},
    MemberSpec{"anchor", kInteger, kOptional,
               "Where a calendar's period starts: weekday 1 to 7, day 1 to 31, or month * 100 + day of a year."},
    MemberSpec{"shadow", kBoolean, kOptional, "Judged and reported, but denies nothing."},
    MemberSpec{"durable", kText, kOptional, "When a take reaches the disk.", "always|everysec|never"},
    MemberSpec{"on_fail", kText, kOptional, "What is answered while the store does not answer.", "closed|open"},
    MemberSpec{"scope", kText, kOptional, "Who shares the limit.", "node|shared|escrow"},
    MemberSpec{"outstanding", kInteger, kOptional,
               "In answers, of scope escrow: what nodes have drawn and not spent. Means nothing in a request."},
};
inline constexpr Schema kLimit = {"Limit", kLimitMembers};

// --- Answers ---------------------------------------------------------------------------------------------------------

inline constexpr MemberSpec kAllowed = {"allowed", kBoolean, kRequired, "Whether it may happen."};
inline constexpr MemberSpec kRetryAfter = {"retry_after_ms", kInteger, kRequired,
                                           "0 when allowed; -1 when no wait is enough."};
inline constexpr MemberSpec kResetAfter = {"reset_after_ms", kInteger, kRequired,
                                           "Until the meter is as a fresh one; -1 for a stock."};
inline constexpr MemberSpec kViolated = {"violated", kTexts, kRequired, "The limits that did not fit."};

inline constexpr std::array kDecisionMembers = {
    kAllowed,
    kRemaining,
    kCapacity,
    kRetryAfter,
    kResetAfter,
    kViolated,
    MemberSpec{"taken", kInteger, kOptional, "With mode up_to: how much was taken."}};
inline constexpr Schema kDecision = {"Decision", kDecisionMembers};

inline constexpr std::array kHoldDecisionMembers = {MemberSpec{"id", kText, kRequired, "The hold's id."},
                                                    kAllowed,
                                                    kRemaining,
                                                    kCapacity,
                                                    kRetryAfter,
                                                    kResetAfter,
                                                    kViolated};
inline constexpr Schema kHoldDecision = {"HoldDecision", kHoldDecisionMembers};

inline constexpr std::array kReturnedMembers = {
    MemberSpec{"returned", kInteger, kRequired, "The sum of what came back."}, kRemaining, kCapacity};
inline constexpr Schema kReturned = {"Returned", kReturnedMembers};

inline constexpr std::array kCommittedMembers = {
    MemberSpec{"committed", kInteger, kRequired, "The sum of what was charged."}, kRemaining, kCapacity};
inline constexpr Schema kCommitted = {"Committed", kCommittedMembers};

inline constexpr MemberSpec kExpiresIn = {"expires_in_ms", kInteger, kRequired, "0 once it is final."};
inline constexpr std::array kExtendedMembers = {kExpiresIn};
inline constexpr Schema kExtended = {"Extended", kExtendedMembers};

inline constexpr std::array kHoldMembers = {
    MemberSpec{"id", kText, kRequired, "The hold's id."},
    MemberSpec{"state", kText, kRequired, "Final once it is not held.", "held|committed|cancelled|expired"}, kExpiresIn,
    MemberSpec{"tag", kText, kRequired, "Empty if it has none."},
    MemberSpec{"charges", kHeldCharges, kRequired, "In the order in which they were made."}};
inline constexpr Schema kHold = {"Hold", kHoldMembers};

inline constexpr std::array kHoldListMembers = {
    MemberSpec{"holds", kTexts, kRequired, "Ids of open holds; of a meter, the first to expire first."}};
inline constexpr Schema kHoldList = {"HoldList", kHoldListMembers};

inline constexpr std::array kLimitListMembers = {MemberSpec{"limits", kTexts, kRequired, "The names, sorted."}};
inline constexpr Schema kLimitList = {"LimitList", kLimitListMembers};

inline constexpr std::array kUsageMembers = {MemberSpec{"used", kInteger, kRequired, "Without what is held."},
                                             MemberSpec{"held", kInteger, kRequired, "By open holds."},
                                             MemberSpec{"remaining", kInteger, kRequired, "What is left."},
                                             MemberSpec{"limit", kInteger, kRequired, "What a fresh meter has."},
                                             kResetAfter};
inline constexpr Schema kUsage = {"Usage", kUsageMembers};

inline constexpr std::array kReconciliationMembers = {
    MemberSpec{"used_before", kInteger, kRequired, "Without what is held."},
    MemberSpec{"used_now", kInteger, kRequired, "Without what is held."}};
inline constexpr Schema kReconciliation = {"Reconciliation", kReconciliationMembers};

// --- Syncs -----------------------------------------------------------------------------------------------------------

inline constexpr std::array kSyncRequestMembers = {
    MemberSpec{"dry_run", kBoolean, kOptional, "Tell what would change, and change nothing."},
    MemberSpec{"force", kBoolean, kOptional, "Change more than max_change allows."}};
inline constexpr Schema kSyncRequest = {"SyncRequest", kSyncRequestMembers};

inline constexpr std::array kSyncStartedMembers = {MemberSpec{"run", kInteger, kRequired, "The number of the run."}};
inline constexpr Schema kSyncStarted = {"SyncStarted", kSyncStartedMembers};

inline constexpr std::array kDifferenceMembers = {
    MemberSpec{"key", kText, kRequired, "Who is charged."},
    MemberSpec{"used", kInteger, kRequired, "By what was counted here, without what is held."},
    MemberSpec{"truth", kInteger, kRequired, "By the source of truth."},
    MemberSpec{"change", kInteger, kRequired, "What was added, or would be."}};
inline constexpr Schema kDifference = {"Difference", kDifferenceMembers};

// The fields of sync_description.h.
inline constexpr std::array kSyncMembers = {
    MemberSpec{"limit", kText, kRequired, "The limit's name."},
    MemberSpec{"schedule", kText, kRequired, "As cron has it; empty: only on demand."},
    MemberSpec{"zone", kText, kRequired, "The time zone of the schedule."},
    MemberSpec{"missing", kText, kRequired, "What becomes of keys that the query does not return.", "keep|zero"},
    MemberSpec{"max_change", kText, kRequired, "Empty where there is none."},
    MemberSpec{"next_run_at", kText, kRequired, "In UTC; empty where there is no schedule."},
    MemberSpec{"last_success_at", kText, kRequired, "In UTC; empty if there was none since the start."}};
inline constexpr Schema kSync = {"Sync", kSyncMembers};

inline constexpr std::array kSyncRunMembers = {
    MemberSpec{"run", kInteger, kRequired, "Its number."},
    MemberSpec{"state", kText, kRequired, "How it stands, or how it ended; busy: another server is at it.",
               "waiting|running|done|refused|busy|failed"},
    MemberSpec{"stage", kText, kRequired, "While it is running.", "|marking|reading|applying"},
    MemberSpec{"trigger", kText, kRequired, "Why it was started.", "schedule|demand"},
    MemberSpec{"limit", kText, kRequired, "The limit's name."},
    MemberSpec{"dry_run", kBoolean, kRequired, "Whether it only tells."},
    MemberSpec{"forced", kBoolean, kRequired, "Whether it goes beyond max_change."},
    MemberSpec{"message", kText, kRequired, "Why it was not done."},
    MemberSpec{"started_at", kText, kRequired, "In UTC; empty while it waits."},
    MemberSpec{"took_ms", kInteger, kRequired, "0 until it has ended."},
    MemberSpec{"keys", kInteger, kRequired, "That the query returned."},
    MemberSpec{"missing_keys", kInteger, kRequired, "In use, and not returned."},
    MemberSpec{"differing_keys", kInteger, kRequired, "That are to be changed."},
    MemberSpec{"changed_keys", kInteger, kRequired, "That were changed."},
    MemberSpec{"used", kInteger, kRequired, "In all, as it was counted here."},
    MemberSpec{"drift", kInteger, kRequired, "The sum of all differences, whatever their sign."},
    MemberSpec{"differences", kDifferences, kRequired, "The largest ones, 20 at most."}};
inline constexpr Schema kSyncRun = {"SyncRun", kSyncRunMembers};

inline constexpr std::array kSyncListMembers = {
    MemberSpec{"syncs", kSyncs, kRequired, "What the configuration says."},
    MemberSpec{"runs", kSyncRuns, kRequired, "The last 100, the last one first."}};
inline constexpr Schema kSyncList = {"SyncList", kSyncListMembers};

// --- The server ------------------------------------------------------------------------------------------------------

inline constexpr std::array kStatusMembers = {MemberSpec{"status", kText, kRequired, "In a word."}};
inline constexpr Schema kStatus = {"Status", kStatusMembers};

inline constexpr MemberSpec kProblemType = {"type", kText, kRequired, "A URI that names the kind of problem."};
inline constexpr MemberSpec kProblemTitle = {"title", kText, kRequired, "The kind of problem, in words."};
inline constexpr MemberSpec kProblemStatus = {"status", kInteger, kRequired, "The HTTP status."};
inline constexpr MemberSpec kProblemDetail = {"detail", kText, kRequired, "What is wrong, and what would be right."};

inline constexpr std::array kProblemMembers = {
    kProblemType, kProblemTitle, kProblemStatus, kProblemDetail,
    MemberSpec{"code", kText, kRequired, "The error as RESP has it: NOLIMIT, NOHOLD, EXPIRED, …; ERR for the rest."}};
inline constexpr Schema kProblem = {"Problem", kProblemMembers};

inline constexpr std::array kDenialMembers = {kProblemType,
                                              kProblemTitle,
                                              kProblemStatus,
                                              kProblemDetail,
                                              MemberSpec{"violated-policies", kTexts, kRequired, "As violated."},
                                              kAllowed,
                                              kRemaining,
                                              kCapacity,
                                              kRetryAfter,
                                              kResetAfter,
                                              kViolated,
                                              MemberSpec{"taken", kInteger, kOptional, "With mode up_to: 0."}};
inline constexpr Schema kDenial = {"Denial", kDenialMembers};

inline constexpr std::array kAll = {
    &kCharge,      &kHeldCharge,  &kTake,       &kGive,     &kHoldRequest,    &kCommit,   &kNothing,   &kExtend,
    &kAmount,      &kUsed,        &kLimit,      &kDecision, &kHoldDecision,   &kReturned, &kCommitted, &kExtended,
    &kHold,        &kHoldList,    &kLimitList,  &kUsage,    &kReconciliation, &kStatus,   &kProblem,   &kDenial,
    &kSyncRequest, &kSyncStarted, &kDifference, &kSync,     &kSyncRun,        &kSyncList,
};

}  // namespace mete::server::schema
