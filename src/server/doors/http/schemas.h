// Every object of the HTTP API. See schema.h for what a declaration is good for.
#pragma once

#include <array>
#include <concepts>

#include "core/answer_fields.h"
#include "server/doors/http/schema.h"
#include "sync/fields.h"

namespace mete::server::schema {

using enum MemberType;

inline constexpr bool kRequired = true;
inline constexpr bool kOptional = false;

// --- Parts of requests and answers -----------------------------------------------------------------------------------

inline const Schema kCharge = {"Charge",
                               {{"limit", kText, kRequired, "The limit's name."},
                                {"key", kText, kRequired, "Who is charged: 1 to 512 bytes of UTF-8."},
                                {"cost", kInteger, kOptional, "How much; 1 where it is absent."}}};

extern const Schema kHeldCharge;

// The fields of an answer as core/answer_fields.h describes them; `more` goes to describe_fields.
template <class Answer, class... More>
Members fields_of(const More&... more) {
  Members members;
  const auto add = [&]<class Value>(std::string_view name, const Value& value, std::string_view meaning) {
    MemberSpec member{name, kText, kRequired, meaning};
    if constexpr (std::same_as<Value, OneOf>) member.choices = value.names;
    if constexpr (std::same_as<Value, HoldState>) member.choices = kHoldStateNames;
    if constexpr (std::integral<Value> || std::same_as<Value, Duration>) member.type = kInteger;
    if constexpr (std::same_as<Value, bool>) member.type = kBoolean;
    if constexpr (std::same_as<Value, std::vector<HeldCharge>>) member.type = kObjects, member.elements = &kHeldCharge;
    members.push_back(member);
  };
  const Answer answer;
  describe_fields(answer, add, more...);
  return members;
}

inline Members joined(Members members, const Members& more, const Members& last = {}) {
  members.insert(members.end(), more.begin(), more.end());
  members.insert(members.end(), last.begin(), last.end());
  return members;
}

inline const Schema kHeldCharge = {"HeldCharge", fields_of<HeldCharge>()};

inline constexpr MemberSpec kChargeList = {"charges", kObjects, kRequired, "1 to 16 charges, all or nothing.",
                                           "",        &kCharge};
inline constexpr MemberSpec kOperationId = {
    "id", kText, kOptional, "Makes the operation idempotent: the same id with the same parameters charges once."};
inline constexpr MemberSpec kTtl = {"ttl", kDuration, kRequired, "How long from now, such as \"1h\"; up to 366d."};

// --- Requests --------------------------------------------------------------------------------------------------------

inline constexpr std::string_view kModes = "take|peek|up_to|force";
inline constexpr MemberSpec kMode = {
    "mode", kText, kOptional,
    "take: all or nothing, as where it is absent; peek: the same answer, and nothing changes; up_to: as much as fits "
    "of one charge; force: usage that already happened.",
    kModes};
inline constexpr MemberSpec kWait = {
    "wait", kDuration, kOptional,
    "The answer comes when it fits, or as a denial after so long, such as \"2s\": first come, first served."};
inline const Schema kTake = {"Take", {kChargeList, kOperationId, kMode, kWait}};
// One of several.
inline const Schema kListedTake = {"ListedTake", {kChargeList, kOperationId, kMode}};

inline const Schema kGive = {"Give", {kChargeList, kOperationId}};

inline const Schema kHoldRequest = {
    "HoldRequest",
    {kChargeList, kTtl, MemberSpec{"id", kText, kOptional, "The hold's id; a random one where it is absent."},
     MemberSpec{"tag", kText, kOptional, "To find the hold by, such as a job's name."}}};

inline const Schema kCommit = {
    "Commit",
    {MemberSpec{"amounts", kIntegers, kOptional, "One per charge, in the hold's order; all that is held where absent."},
     MemberSpec{"overage", kBoolean, kOptional, "Take what goes beyond the hold afresh, in the same step."}}};

inline const Schema kNothing = {"Nothing", {}};

inline const Schema kExtend = {"Extend", {kTtl}};

inline const Schema kAmount = {"Amount",
                               {MemberSpec{"amount", kInteger, kRequired, "The amount for this key: 1 to 2^53-1."}}};

inline const Schema kUsed = {
    "Used", {MemberSpec{"used", kInteger, kRequired, "What is in use by the source of truth, without what is held."}}};

// The fields of core/limit_fields.h, between the name and what is outstanding.
Members limit_members();
inline const Schema kLimit = {"Limit", limit_members()};

// --- Answers ---------------------------------------------------------------------------------------------------------

inline constexpr MemberSpec kHoldId = {"id", kText, kRequired, "The hold's id."};
inline constexpr MemberSpec kViolated = {"violated", kTexts, kRequired, "The limits that did not fit."};
inline const Members kVerdict = joined(fields_of<core::Verdict>(), {kViolated});

inline const Schema kDecision = {
    "Decision", joined(kVerdict, {{"taken", kInteger, kOptional, "With mode up_to: how much was taken."},
                                  {"unrecorded", kBoolean, kOptional,
                                   "True where the store was away, and on_fail admitted it; else absent."}})};
inline const Schema kHoldDecision = {"HoldDecision", joined({kHoldId}, kVerdict)};
inline const Schema kReturned = {"Returned", fields_of<Settlement>("returned", "The sum of what came back.")};
inline const Schema kCommitted = {"Committed", fields_of<Settlement>("committed", "The sum of what was charged.")};
inline const Schema kHold = {"Hold", joined({kHoldId}, fields_of<HoldInfo>())};
inline const Schema kExtended = {"Extended", {{"expires_in_ms", kInteger, kRequired, "0 once it is final."}}};
inline const Schema kUsage = {"Usage", fields_of<Usage>()};
inline const Schema kReconciliation = {"Reconciliation", fields_of<Reconciliation>()};

inline const Schema kHoldList = {
    "HoldList", {MemberSpec{"holds", kTexts, kRequired, "Ids of open holds; of a meter, the first to expire first."}}};

inline const Schema kLimitList = {"LimitList", {MemberSpec{"limits", kTexts, kRequired, "The names, sorted."}}};

// --- Syncs -----------------------------------------------------------------------------------------------------------

inline const Schema kSyncRequest = {
    "SyncRequest",
    {MemberSpec{"dry_run", kBoolean, kOptional, "Tell what would change, and change nothing."},
     MemberSpec{"force", kBoolean, kOptional, "Change more than max_change allows."}}};

inline const Schema kSyncStarted = {"SyncStarted", {MemberSpec{"run", kInteger, kRequired, "The number of the run."}}};

inline const Schema kDifference = {"Difference", fields_of<sync::Difference>()};
inline const Schema kSync = {"Sync", fields_of<sync::PlanStatus>()};
inline const Schema kSyncRun = {
    "SyncRun", joined(fields_of<sync::RunRecord>(),
                      {{"differences", kObjects, kRequired, "The largest ones, 20 at most.", "", &kDifference}})};
inline const Schema kSyncList = {
    "SyncList",
    {MemberSpec{"syncs", kObjects, kRequired, "What the configuration says.", "", &kSync},
     MemberSpec{"runs", kObjects, kRequired, "The last 100, the last one first.", "", &kSyncRun}}};

// --- The server ------------------------------------------------------------------------------------------------------

inline const Schema kStatus = {"Status", {MemberSpec{"status", kText, kRequired, "In a word."}}};

inline const Members kProblemMembers = {{"type", kText, kRequired, "A URI that names the kind of problem."},
                                        {"title", kText, kRequired, "The kind of problem, in words."},
                                        {"status", kInteger, kRequired, "The HTTP status."},
                                        {"detail", kText, kRequired, "What is wrong, and what would be right."}};
inline const Schema kProblem = {
    "Problem", joined(kProblemMembers, {{"code", kText, kRequired,
                                         "The error as RESP has it: NOLIMIT, NOHOLD, EXPIRED, …; ERR for the rest."}})};
inline const Schema kDenial = {
    "Denial", joined(joined(kProblemMembers, {{"violated-policies", kTexts, kRequired, "As violated."}}), kVerdict,
                     {{"taken", kInteger, kOptional, "With mode up_to: 0."}})};

inline constexpr std::array kAll = {
    &kCharge,      &kHeldCharge,  &kTake,       &kGive,     &kHoldRequest,    &kCommit,   &kNothing,    &kExtend,
    &kAmount,      &kUsed,        &kLimit,      &kDecision, &kHoldDecision,   &kReturned, &kCommitted,  &kExtended,
    &kHold,        &kHoldList,    &kLimitList,  &kUsage,    &kReconciliation, &kStatus,   &kProblem,    &kDenial,
    &kSyncRequest, &kSyncStarted, &kDifference, &kSync,     &kSyncRun,        &kSyncList, &kListedTake,
};

}  // namespace mete::server::schema
