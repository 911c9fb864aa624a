// Decisions as HTTP tells them: the headers of every one of them, and the problem that a denial is.
//
//     RateLimit-Policy: "api";q=100;w=60     each charge's limit: the amount, and the period in seconds
//     RateLimit: "api";r=99;t=30             what remains of it, and the seconds until it is as fresh
//     X-RateLimit-Limit, -Remaining, -Reset  the tightest charge; the reset in Unix seconds
//     Retry-After                            of a denial that a wait may help
//
// The first two follow draft-ietf-httpapi-ratelimit-headers-11. Times are rounded up. A policy has no w where its
// period is not of a fixed number of whole seconds (250ms, a month, a stock), and no t if it is never fresh again by
// itself. A limit whose name is not printable ASCII cannot be named in a header, and is left out of the first two.
//
// All of them are the decision's own, but for one case: an answer that is told again by its id is remembered as a
// whole, and where it has several charges the first two headers tell how these stand now.
#pragma once

#include <mete/decision.h>

#include <array>
#include <span>

#include "core/verdict.h"
#include "server/doors/http/route.h"
#include "wire/http_response.h"
#include "wire/json.h"

namespace mete::server {

struct HttpDecision {
  const core::Verdict& verdict;
  std::span<const Charge> charges;
  bool tells_taken = false;  // mode up_to
  // One per charge as the decision has told them, a limit of 0 where it has not; needed for several charges.
  std::span<const Usage> usages = {};
};

// Room for them.
using ChargeUsages = std::array<Usage, kChargesMax>;

void add_decision_headers(WakingStore& store, const HttpDecision& decision, wire::HttpResponse& response);

// The members allowed … violated of an object that has been begun.
void write_decision(const HttpDecision& decision, wire::JsonWriter& writer);

// Status 429 and the body, without the headers above.
wire::HttpResponse denial(const HttpDecision& decision);

// The whole answer to a take, of which the observer is told.
wire::HttpResponse take_answer(WakingStore& store, DecisionObserver& observer, const core::Take& take,
                               const core::Verdict& verdict);

}  // namespace mete::server
